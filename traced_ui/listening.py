"""Open the port before the server exists, without importing Gradio, which is slow."""

import errno
import socket

from backend.errors import PortInUse


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; connections wait until a server accepts them. Port 0: any free port.
    Raises PortInUse."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        # 'localhost' is IPv4 and IPv6: prefer 127.0.0.1, which is displayed and clients connect to.
        family, _, _, _, address = min(addresses, key=lambda info: info[0] != socket.AF_INET)
        return socket.create_server(address[:2], family=family, reuse_port=False)
    except socket.gaierror as problem:
        raise PortInUse(f"There is no address '{host}': {problem.strerror}.") from problem
    except OSError as problem:
        advice = {
            errno.EADDRINUSE: f"another program is already listening on port {port}. Stop it, or "
            "choose another port with --port (0: any that is free).",
            errno.EACCES: f"port {port} requires administrator rights. Choose one above 1023.",
            errno.EADDRNOTAVAIL: "the address is not this machine's.",
        }.get(problem.errno or 0, f"{problem.strerror}.")
        raise PortInUse(f"{host}:{port}: {advice}") from problem
