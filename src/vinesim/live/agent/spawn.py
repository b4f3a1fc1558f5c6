"""Start a command from a small process: ``python spawn.py FD PARENT WORD...``, with the environment of the command.

The operating system counts the memory of a process at its fork to the most that the command ever uses, so a command
that a large process starts seems to be as large. This process is small. It starts the command, writes its number to FD
and ends, so that the process PARENT, which adopts orphans, becomes the parent of the command. If the command cannot be
executed, the error's number follows on FD.
"""

import ctypes
import os
import signal
import sys
import time

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Fork, let the parent end, and become the command."""
    fd, parent, words = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    here = os.getpid()
    pid = os.fork()
    if pid > 0:
        os.write(fd, b"%d " % pid)
        os._exit(0)
    os.setsid()
    os.set_inheritable(fd, False)
    while os.getppid() == here:
        time.sleep(0.0005)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it has died meanwhile
        os._exit(1)
    for number in signal.valid_signals():  # Python ignores two, a shell others in the background, `nohup` one more
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(words[0], words)  # noqa: S606 - running what users submit is the purpose
    except OSError as error:
        os.write(fd, b"%d" % (error.errno or 0))
        os._exit(1)


if __name__ == "__main__":
    main()
