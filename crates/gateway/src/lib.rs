//! I/O shards, listeners, adapters, worker queues and limits: the whole server without JavaScript.
