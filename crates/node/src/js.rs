//! The Node-API calls of this addon. Each checks its status, and its values are tied to the
//! callback they belong to. Owns the `unsafe` calls into the runtime; knows nothing about gateways.
#![expect(
    unsafe_code,
    reason = "Node-API is a C interface; this module is its wrapper"
)]

mod act;
#[cfg(unix)]
mod async_context;
mod make;
mod read;

pub(crate) use act::Finalizer;
#[cfg(unix)]
pub(crate) use async_context::AsyncContext;

use std::marker::PhantomData;
use std::ptr;

use napi::sys;

use crate::failure::{Failure, Outcome, check};

/// An environment inside one callback: `'s` is the callback's handle scope.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Js<'s> {
    env: sys::napi_env,
    scope: PhantomData<&'s ()>,
}

/// A JavaScript value, valid while its callback runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value<'s> {
    raw: sys::napi_value,
    scope: PhantomData<&'s ()>,
}

/// The result of `typeof`, with `null` as a type of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Undefined,
    Null,
    Boolean,
    Number,
    String,
    Symbol,
    Object,
    Function,
    Other,
}

/// A value kept alive across callbacks, to be used only on its environment's thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reference(sys::napi_ref);

impl Value<'_> {
    pub(crate) fn raw(self) -> sys::napi_value {
        self.raw
    }
}

impl<'s> Js<'s> {
    /// # Safety
    /// `env` is alive, belongs to the current thread, and a handle scope is open for `'s`.
    pub(crate) unsafe fn new(env: sys::napi_env) -> Self {
        Self {
            env,
            scope: PhantomData,
        }
    }

    /// # Safety
    /// `raw` was made in this environment's current handle scope.
    #[expect(clippy::unused_self, reason = "it gives the value its lifetime")]
    pub(crate) unsafe fn value_of(self, raw: sys::napi_value) -> Value<'s> {
        Value {
            raw,
            scope: PhantomData,
        }
    }

    pub(crate) fn env(self) -> sys::napi_env {
        self.env
    }

    #[expect(clippy::unused_self, reason = "it gives the value its lifetime")]
    fn make(
        self,
        call: impl FnOnce(*mut sys::napi_value) -> sys::napi_status,
    ) -> Outcome<Value<'s>> {
        let mut raw = ptr::null_mut();
        check(call(&raw mut raw))?;
        if raw.is_null() {
            return Err(Failure::Abandoned);
        }
        Ok(Value {
            raw,
            scope: PhantomData,
        })
    }
}
