//! Reads values. Makes none except those that it finds in other values.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use napi::sys;

use super::{Js, Type, Value};
use crate::failure::{Outcome, check};

/// SAFETY of every call here: `self` proves a live environment with an open scope on this thread, and
/// out-pointers point to locals; the values carry `'s`.
impl<'s> Js<'s> {
    pub(crate) fn type_of(self, value: Value<'_>) -> Outcome<Type> {
        use sys::ValueType;
        let mut kind = 0;
        // SAFETY: see the impl block.
        check(unsafe { sys::napi_typeof(self.env, value.raw, &raw mut kind) })?;
        Ok(match kind {
            ValueType::napi_undefined => Type::Undefined,
            ValueType::napi_null => Type::Null,
            ValueType::napi_boolean => Type::Boolean,
            ValueType::napi_number => Type::Number,
            ValueType::napi_string => Type::String,
            ValueType::napi_symbol => Type::Symbol,
            ValueType::napi_object => Type::Object,
            ValueType::napi_function => Type::Function,
            _ => Type::Other,
        })
    }

    /// The number in `value`, if it is one.
    pub(crate) fn as_number(self, value: Value<'_>) -> Outcome<Option<f64>> {
        let (status, number) = self.double(value);
        if status == sys::Status::napi_number_expected {
            return Ok(None);
        }
        check(status)?;
        Ok(Some(number))
    }

    /// The number in `value`, which must be one.
    pub(crate) fn to_number(self, value: Value<'_>) -> Outcome<f64> {
        let (status, number) = self.double(value);
        check(status)?;
        Ok(number)
    }

    fn double(self, value: Value<'_>) -> (sys::napi_status, f64) {
        let mut number = 0.0;
        // SAFETY: see the impl block.
        let status = unsafe { sys::napi_get_value_double(self.env, value.raw, &raw mut number) };
        (status, number)
    }

    /// The boolean in `value`, which must be one.
    pub(crate) fn to_boolean(self, value: Value<'_>) -> Outcome<bool> {
        let mut boolean = false;
        // SAFETY: see the impl block.
        check(unsafe { sys::napi_get_value_bool(self.env, value.raw, &raw mut boolean) })?;
        Ok(boolean)
    }

    /// Appends a string's UTF-8 to `out`; lone surrogates become U+FFFD. Needs a single call for all strings
    /// except the first large one, because `out` keeps its capacity. Returns false if the value is not a
    /// string.
    pub(crate) fn append_string(self, value: Value<'_>, out: &mut Vec<u8>) -> Outcome<bool> {
        if out.capacity() - out.len() < STRING_ROOM {
            out.reserve(STRING_ROOM);
        }
        let start = out.len();
        if !self.write_string(value, out)? {
            return Ok(false);
        }
        // text that does not fit is truncated between characters of at most four bytes, before a final zero
        if out.capacity() - out.len() < 5 {
            out.truncate(start);
            out.reserve(self.utf8_length(value)? + 8);
            self.write_string(value, out)?;
        }
        Ok(true)
    }

    /// A string's UTF-8 after `room` zero bytes, in a buffer of about that size. `None` if the value is not a
    /// string.
    pub(crate) fn string_behind(self, value: Value<'_>, room: usize) -> Outcome<Option<Vec<u8>>> {
        let mut units = 0;
        // SAFETY: see the impl block; without a buffer the call only measures the UTF-16 units.
        let status = unsafe {
            sys::napi_get_value_string_latin1(
                self.env,
                value.raw,
                ptr::null_mut(),
                0,
                &raw mut units,
            )
        };
        if status == sys::Status::napi_string_expected {
            return Ok(None);
        }
        check(status)?;
        // Measuring the UTF-8 takes longer than writing it. So the string is written as if it were ASCII. If
        // it is, there is still room for one more character of at most four bytes and a final zero.
        let mut bytes = Vec::with_capacity(room + units + 5);
        bytes.resize(room, 0);
        self.write_string(value, &mut bytes)?;
        if bytes.len() != room + units {
            bytes.truncate(room);
            bytes.reserve_exact(self.utf8_length(value)? + 1);
            self.write_string(value, &mut bytes)?;
        }
        Ok(Some(bytes))
    }

    /// The number of bytes of a string's UTF-8.
    fn utf8_length(self, value: Value<'_>) -> Outcome<usize> {
        let (mut length, no_buffer) = (0, ptr::null_mut());
        // SAFETY: see the impl block; without a buffer the call only measures.
        check(unsafe {
            sys::napi_get_value_string_utf8(self.env, value.raw, no_buffer, 0, &raw mut length)
        })?;
        Ok(length)
    }

    /// Appends as much of a string's UTF-8 as the capacity of `out` allows, which leaves room for a zero byte. Returns
    /// false if the value is not a string.
    fn write_string(self, value: Value<'_>, out: &mut Vec<u8>) -> Outcome<bool> {
        let spare = out.spare_capacity_mut();
        let mut written = 0;
        let (start, room) = (spare.as_mut_ptr().cast::<c_char>(), spare.len());
        // SAFETY: see the impl block; `room` bytes may be written at `start`.
        let status = unsafe {
            sys::napi_get_value_string_utf8(self.env, value.raw, start, room, &raw mut written)
        };
        if status == sys::Status::napi_string_expected {
            return Ok(false);
        }
        check(status)?;
        // SAFETY: the runtime has initialised that many bytes after the length, within the capacity.
        unsafe { out.set_len(out.len() + written) };
        Ok(true)
    }

    pub(crate) fn is_array(self, value: Value<'_>) -> Outcome<bool> {
        self.is(Kind::Array, value.raw)
    }

    #[inline]
    fn is(self, kind: Kind, value: sys::napi_value) -> Outcome<bool> {
        let (env, mut answer) = (self.env, false);
        let out = &raw mut answer;
        // SAFETY: see the impl block.
        check(unsafe {
            match kind {
                Kind::Array => sys::napi_is_array(env, value, out),
                Kind::ArrayBuffer => sys::napi_is_arraybuffer(env, value, out),
                Kind::DataView => sys::napi_is_dataview(env, value, out),
                #[cfg(unix)]
                Kind::Detached => sys::napi_is_detached_arraybuffer(env, value, out),
                Kind::TypedArray => sys::napi_is_typedarray(env, value, out),
            }
        })?;
        Ok(answer)
    }

    pub(crate) fn array_length(self, array: Value<'_>) -> Outcome<u32> {
        let mut length = 0;
        // SAFETY: see the impl block.
        check(unsafe { sys::napi_get_array_length(self.env, array.raw, &raw mut length) })?;
        Ok(length)
    }

    /// Reads an element. A getter may run JavaScript.
    pub(crate) fn element(self, array: Value<'_>, index: u32) -> Outcome<Value<'s>> {
        // SAFETY: see the impl block.
        self.make(|out| unsafe { sys::napi_get_element(self.env, array.raw, index, out) })
    }

    /// Reads a property. A getter may run JavaScript.
    pub(crate) fn get(self, object: Value<'_>, name: &CStr) -> Outcome<Value<'s>> {
        // SAFETY: see the impl block; `name` ends with a zero byte.
        self.make(|out| unsafe {
            sys::napi_get_named_property(self.env, object.raw, name.as_ptr(), out)
        })
    }

    /// The names of an object's own enumerable properties as an array of strings, without inherited ones.
    pub(crate) fn names(self, object: Value<'_>) -> Outcome<Value<'s>> {
        // SAFETY: see the impl block.
        self.make(|out| unsafe {
            sys::napi_get_all_property_names(
                self.env,
                object.raw,
                sys::KeyCollectionMode::own_only,
                sys::KeyFilter::enumerable | sys::KeyFilter::skip_symbols,
                sys::KeyConversion::numbers_to_strings,
                out,
            )
        })
    }

    /// Passes the bytes of an `ArrayBuffer`, typed array or `DataView` to `look`, which must not run
    /// JavaScript. `None` for any other value, including memory that threads share.
    pub(crate) fn with_bytes<R>(
        self,
        value: Value<'_>,
        look: impl FnOnce(&[u8]) -> R,
    ) -> Outcome<Option<R>> {
        let Some((data, length)) = self.bytes_of(value)? else {
            return Ok(None);
        };
        if length == 0 || data.is_null() {
            return Ok(Some(look(&[])));
        }
        // SAFETY: the runtime says that `length` bytes are at `data`; they stay while `value` is reachable and
        // no JavaScript runs, and no other thread can see an unshared buffer.
        Ok(Some(look(unsafe {
            std::slice::from_raw_parts(data, length)
        })))
    }

    /// Whether the value is an `ArrayBuffer` that was transferred.
    #[cfg(unix)]
    pub(crate) fn is_detached(self, value: Value<'_>) -> Outcome<bool> {
        self.is(Kind::Detached, value.raw)
    }

    fn bytes_of(self, value: Value<'_>) -> Outcome<Option<(*const u8, usize)>> {
        let (mut data, mut length) = (ptr::null_mut::<c_void>(), 0_usize);
        let mut buffer = ptr::null_mut();
        if self.is(Kind::TypedArray, value.raw)? {
            let mut kind = -1;
            // SAFETY: see the impl block; the offset is not needed, because `data` includes it.
            check(unsafe {
                sys::napi_get_typedarray_info(
                    self.env,
                    value.raw,
                    &raw mut kind,
                    &raw mut length,
                    &raw mut data,
                    &raw mut buffer,
                    ptr::null_mut(),
                )
            })?;
            let Some(size) = element_size(kind) else {
                return Ok(None);
            };
            length *= size;
        } else if self.is(Kind::ArrayBuffer, value.raw)? {
            // SAFETY: see the impl block.
            check(unsafe {
                sys::napi_get_arraybuffer_info(self.env, value.raw, &raw mut data, &raw mut length)
            })?;
            return Ok(Some((data.cast::<u8>().cast_const(), length)));
        } else if self.is(Kind::DataView, value.raw)? {
            // SAFETY: see the impl block; the offset is not needed, because `data` includes it.
            check(unsafe {
                sys::napi_get_dataview_info(
                    self.env,
                    value.raw,
                    &raw mut length,
                    &raw mut data,
                    &raw mut buffer,
                    ptr::null_mut(),
                )
            })?;
        } else {
            return Ok(None);
        }
        // a view of a SharedArrayBuffer has bytes that another thread may be writing
        let is_unshared = self.is(Kind::ArrayBuffer, buffer)?;
        Ok(is_unshared.then_some((data.cast::<u8>().cast_const(), length)))
    }
}

/// What [`Js::is`] can tell of a value.
#[derive(Clone, Copy)]
enum Kind {
    Array,
    /// An `ArrayBuffer` that threads do not share.
    ArrayBuffer,
    DataView,
    /// An `ArrayBuffer` that was transferred.
    #[cfg(unix)]
    Detached,
    TypedArray,
}

fn element_size(kind: sys::napi_typedarray_type) -> Option<usize> {
    use sys::TypedarrayType;
    match kind {
        TypedarrayType::int8_array
        | TypedarrayType::uint8_array
        | TypedarrayType::uint8_clamped_array => Some(1),
        TypedarrayType::int16_array | TypedarrayType::uint16_array => Some(2),
        TypedarrayType::int32_array
        | TypedarrayType::uint32_array
        | TypedarrayType::float32_array => Some(4),
        TypedarrayType::float64_array
        | TypedarrayType::bigint64_array
        | TypedarrayType::biguint64_array => Some(8),
        _ => None,
    }
}

/// The spare capacity before a string is read. Longer strings need a second call.
const STRING_ROOM: usize = 4096;
