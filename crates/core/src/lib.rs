//! Sockets, channels, subscriptions, virtual sockets, tokens and the key/value store, without I/O.
