//! Makes values. Reads none.

use std::ffi::{CStr, c_char, c_void};
use std::marker::PhantomData;
use std::ptr;

use napi::sys;

use super::{Js, Value};
use crate::failure::{Failure, Outcome, check};

/// SAFETY of every call here: `self` proves a live environment with an open scope on
/// this thread, out-pointers point to locals, and text and bytes are passed with their length.
impl<'s> Js<'s> {
    pub(crate) fn undefined(self) -> Outcome<Value<'s>> {
        // SAFETY: see the impl block.
        self.make(|out| unsafe { sys::napi_get_undefined(self.env, out) })
    }

    pub(crate) fn null(self) -> Outcome<Value<'s>> {
        // SAFETY: see the impl block.
        self.make(|out| unsafe { sys::napi_get_null(self.env, out) })
    }

    pub(crate) fn boolean(self, value: bool) -> Outcome<Value<'s>> {
        // SAFETY: see the impl block.
        self.make(|out| unsafe { sys::napi_get_boolean(self.env, value, out) })
    }

    pub(crate) fn number(self, value: f64) -> Outcome<Value<'s>> {
        // SAFETY: see the impl block.
        self.make(|out| unsafe { sys::napi_create_double(self.env, value, out) })
    }

    pub(crate) fn string(self, text: &str) -> Outcome<Value<'s>> {
        let (start, length) = (text.as_ptr().cast::<c_char>(), text.len().cast_signed());
        // SAFETY: see the impl block.
        self.make(|out| unsafe { sys::napi_create_string_utf8(self.env, start, length, out) })
    }

    /// Makes a string of ASCII bytes.
    pub(crate) fn ascii_string(self, text: &[u8]) -> Outcome<Value<'s>> {
        let (start, length) = (text.as_ptr().cast::<c_char>(), text.len().cast_signed());
        // SAFETY: see the impl block.
        self.make(|out| unsafe { sys::napi_create_string_latin1(self.env, start, length, out) })
    }

    /// The addon's own file as a URL; an empty string if the runtime does not know it.
    pub(crate) fn module_file(self) -> Outcome<Value<'s>> {
        let mut url = ptr::null();
        // SAFETY: see the impl block.
        let status = unsafe { sys::node_api_get_module_file_name(self.env, &raw mut url) };
        if status != sys::Status::napi_ok || url.is_null() {
            return self.string("");
        }
        // SAFETY: the runtime returns text that ends with a zero byte and is valid as long as the addon is loaded.
        self.string(&unsafe { CStr::from_ptr(url) }.to_string_lossy())
    }

    pub(crate) fn object(self) -> Outcome<Value<'s>> {
        // SAFETY: see the impl block.
        self.make(|out| unsafe { sys::napi_create_object(self.env, out) })
    }

    pub(crate) fn array(self, length: usize) -> Outcome<Value<'s>> {
        // SAFETY: see the impl block.
        self.make(|out| unsafe { sys::napi_create_array_with_length(self.env, length, out) })
    }

    /// Makes a `Buffer` with a copy of the bytes.
    pub(crate) fn buffer(self, bytes: &[u8]) -> Outcome<Value<'s>> {
        let (start, length) = (bytes.as_ptr().cast::<c_void>(), bytes.len());
        // SAFETY: see the impl block; the address of the copy is not needed.
        self.make(|out| unsafe {
            sys::napi_create_buffer_copy(self.env, length, start, ptr::null_mut(), out)
        })
    }

    /// Makes an `ArrayBuffer` with a copy of the bytes. Returns it and the address of the copy.
    pub(crate) fn array_buffer(self, bytes: &[u8]) -> Outcome<(Value<'s>, *mut u8)> {
        let mut data = ptr::null_mut::<c_void>();
        // SAFETY: see the impl block.
        let value = self.make(|out| unsafe {
            sys::napi_create_arraybuffer(self.env, bytes.len(), &raw mut data, out)
        })?;
        let data = data.cast::<u8>();
        if !bytes.is_empty() {
            if data.is_null() {
                return Err(Failure::Abandoned);
            }
            // SAFETY: the runtime has just allocated `bytes.len()` bytes at `data`, and nothing else has their
            // address.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), data, bytes.len()) };
        }
        Ok((value, data))
    }

    /// Makes an `ArrayBuffer` that owns `bytes` without a copy, if the runtime allows it.
    pub(crate) fn adopted_array_buffer(self, mut bytes: Vec<u8>) -> Outcome<Value<'s>> {
        let (data, length) = (bytes.as_mut_ptr().cast::<c_void>(), bytes.len());
        let owner = Box::into_raw(Box::new(bytes));
        let mut raw = ptr::null_mut();
        // SAFETY: `data` has `length` bytes and stays in place until `release_bytes` drops `owner`, which
        // the runtime calls once, and only after an ok status.
        let status = unsafe {
            let hint = owner.cast::<c_void>();
            sys::napi_create_external_arraybuffer(
                self.env,
                data,
                length,
                Some(release_bytes),
                hint,
                &raw mut raw,
            )
        };
        if status == sys::Status::napi_ok && !raw.is_null() {
            return Ok(Value {
                raw,
                scope: PhantomData,
            });
        }
        // SAFETY: the runtime refused, so nothing else uses `owner`.
        let bytes = unsafe { Box::from_raw(owner) };
        if status == sys::Status::napi_no_external_buffers_allowed {
            return self.array_buffer(&bytes).map(|(value, _)| value);
        }
        check(status)?;
        Err(Failure::Abandoned)
    }

    /// Makes the runtime count so many more bytes, at most those of `shown`, among its short-lived buffers, and check
    /// whether it has too many. V8 makes this check when it allocates the memory of a buffer itself, but adopted
    /// buffers are allocated elsewhere.
    pub(crate) fn weigh(self, bytes: usize, shown: &'static [u8]) -> Outcome<()> {
        let data = shown.as_ptr().cast_mut().cast::<c_void>();
        let length = bytes.min(shown.len());
        let mut raw = ptr::null_mut();
        // SAFETY: the data has `length` bytes for ever, and no code gets the buffer, so nothing writes to them.
        let status = unsafe {
            sys::napi_create_external_arraybuffer(
                self.env,
                data,
                length,
                None,
                ptr::null_mut(),
                &raw mut raw,
            )
        };
        if status != sys::Status::napi_no_external_buffers_allowed {
            check(status)?;
        }
        self.array_buffer(&[0]).map(|_looked| ())
    }

    pub(crate) fn set(self, object: Value<'_>, name: &CStr, value: Value<'_>) -> Outcome<()> {
        // SAFETY: see the impl block; `name` ends with a zero byte.
        check(unsafe {
            sys::napi_set_named_property(self.env, object.raw, name.as_ptr(), value.raw)
        })
    }

    pub(crate) fn set_key(
        self,
        object: Value<'_>,
        key: Value<'_>,
        value: Value<'_>,
    ) -> Outcome<()> {
        // SAFETY: see the impl block.
        check(unsafe { sys::napi_set_property(self.env, object.raw, key.raw, value.raw) })
    }

    pub(crate) fn set_element(self, array: Value<'_>, index: u32, value: Value<'_>) -> Outcome<()> {
        // SAFETY: see the impl block.
        check(unsafe { sys::napi_set_element(self.env, array.raw, index, value.raw) })
    }

    /// Makes a function whose callback gets `data`.
    pub(crate) fn function(
        self,
        name: &CStr,
        callback: extern "C" fn(sys::napi_env, sys::napi_callback_info) -> sys::napi_value,
        data: *mut c_void,
    ) -> Outcome<Value<'s>> {
        let length = name.to_bytes().len().cast_signed();
        // SAFETY: see the impl block; the callback does not check `data`, its maker does.
        self.make(|out| unsafe {
            sys::napi_create_function(self.env, name.as_ptr(), length, Some(callback), data, out)
        })
    }
}

/// Drops what [`Js::adopted_array_buffer`] handed over. Any thread may call it.
extern "C" fn release_bytes(_env: sys::napi_env, _data: *mut c_void, hint: *mut c_void) {
    // SAFETY: `hint` is the Box made there, and the runtime finalizes a buffer once.
    drop(unsafe { Box::from_raw(hint.cast::<Vec<u8>>()) });
}
