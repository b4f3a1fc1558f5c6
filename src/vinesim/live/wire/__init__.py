"""How the processes of a live cluster talk: length-prefixed msgpack frames over a socket, authenticated by a token."""
