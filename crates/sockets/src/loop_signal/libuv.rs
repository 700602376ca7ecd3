//! The functions of libuv in the running program. Owns finding them at run time, because not every runtime has them, and
//! the check that they are those of its event loop; makes no handle.
#![expect(
    unsafe_code,
    reason = "libuv is a C library whose functions are found by their names"
)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem;

/// A function that libuv calls with a handle.
pub(super) type Callback = unsafe extern "C" fn(*mut c_void);

/// The functions of the running program's libuv. A handle is a pointer to memory of `async_bytes`, whose first word libuv
/// leaves to its user.
#[derive(Clone, Copy, Debug)]
pub struct Libuv {
    /// `uv_handle_size(kind)`
    pub(super) handle_size: unsafe extern "C" fn(c_int) -> usize,
    /// `uv_async_init(loop, handle, callback)`
    pub(super) async_init: unsafe extern "C" fn(*mut c_void, *mut c_void, Callback) -> c_int,
    /// `uv_async_send(handle)`, the only one that may be called from any thread
    pub(super) async_send: unsafe extern "C" fn(*mut c_void) -> c_int,
    /// `uv_close(handle, callback)`
    pub(super) close: unsafe extern "C" fn(*mut c_void, Callback),
    /// `uv_ref(handle)`
    pub(super) hold: unsafe extern "C" fn(*mut c_void),
    /// `uv_unref(handle)`
    pub(super) release: unsafe extern "C" fn(*mut c_void),
}

impl Libuv {
    /// libuv's functions, if the program has those of this version, which is what its runtime reports.
    pub fn find(version: &str) -> Option<Self> {
        if !version.starts_with("1.") {
            return None;
        }
        // SAFETY: the signature is that of every libuv 1, and the text is a constant that ends with a zero byte.
        let has_version = unsafe {
            let text: unsafe extern "C" fn() -> *const c_char = function(c"uv_version_string")?;
            let text = text();
            !text.is_null() && CStr::from_ptr(text).to_bytes() == version.as_bytes()
        };
        if !has_version {
            return None;
        }
        // SAFETY: these are the signatures of every libuv 1.
        unsafe {
            Some(Self {
                handle_size: function(c"uv_handle_size")?,
                async_init: function(c"uv_async_init")?,
                async_send: function(c"uv_async_send")?,
                close: function(c"uv_close")?,
                hold: function(c"uv_ref")?,
                release: function(c"uv_unref")?,
            })
        }
    }

    /// The size of an asynchronous handle.
    pub(super) fn async_bytes(&self) -> usize {
        // SAFETY: it takes any number.
        unsafe { (self.handle_size)(ASYNC) }
    }
}

/// `UV_ASYNC` of `uv_handle_type`, the same in every libuv 1.
const ASYNC: c_int = 1;

/// The function of this program and the libraries that it was started with that has this name.
///
/// # Safety
/// `F` is the type of a pointer to such a function.
unsafe fn function<F: Copy>(name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: the name ends with a zero byte.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if address.is_null() {
        return None;
    }
    // SAFETY: the sizes are equal, and the caller knows the type.
    Some(unsafe { mem::transmute_copy(&address) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_libuv_has_no_functions() {
        assert!(Libuv::find("1.46.0").is_none());
        assert!(Libuv::find("").is_none());
    }
}
