//! The wires, sans-I/O: bytes in, values out, and back.
