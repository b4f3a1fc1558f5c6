"""Pass a NamedTuple of arrays to kernels as a single pointer.

A NamedTuple of 30 arrays is 200 machine words, copied into every call that a kernel makes. Kernels that take a
reference read its fields by the same names, and the compiler handles one argument instead of 200: without this, the
event loop took 17 s to compile.
"""

import hashlib

from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.imputils import impl_ret_borrowed, lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, register_model


class Reference(types.Type):
    """A pointer to a NamedTuple; its name is short because it becomes part of every symbol."""

    def __init__(self, target: types.NamedTuple):
        self.target = target
        super().__init__(
            f"Reference({target.instance_class.__name__} {hashlib.sha256(str(target).encode()).hexdigest()[:32]})"
        )


@register_model(Reference)
class ReferenceModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, dmm.lookup(fe_type.target).get_value_type().as_pointer())


@infer_getattr
class ReferenceFields(AttributeTemplate):
    key = Reference

    def generic_resolve(self, typ, attr):
        if attr in typ.target.fields:
            return typ.target[typ.target.fields.index(attr)]
        return None


@lower_getattr_generic(Reference)
def read_field(context, builder, typ, value, attr):
    i = typ.target.fields.index(attr)
    field = builder.load(cgutils.gep_inbounds(builder, value, 0, i))
    return impl_ret_borrowed(context, builder, typ.target[i], field)


@intrinsic
def by_reference(typing_context, arrays):
    """Return a reference to a NamedTuple, valid until the calling kernel returns."""
    if not isinstance(arrays, types.BaseNamedTuple):
        return None

    def codegen(context, builder, signature, args):
        return cgutils.alloca_once_value(builder, args[0])

    return Reference(arrays)(arrays), codegen
