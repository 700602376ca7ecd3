//! The native addon: argument conversion, worker drains and doorbells. The only napi code.
