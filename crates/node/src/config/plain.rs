//! Plain JavaScript objects as options of a protocol. Any names and values are accepted, and their meaning
//! is unknown here.

use std::ffi::CString;

use millrace_gateway::Options;
use millrace_gateway::options::Value as Plain;

use crate::arguments;
use crate::failure::{Failure, Outcome};
use crate::js::{Js, Type, Value};

/// Reads an object's own properties. A property with the value `undefined` counts as absent.
pub(super) fn options(js: Js<'_>, object: Value<'_>) -> Outcome<Options> {
    within(js, object, DEPTH)
}

fn within(js: Js<'_>, object: Value<'_>, depth: usize) -> Outcome<Options> {
    let names = js.names(object)?;
    let mut made = Options::new();
    for index in 0..js.array_length(names)? {
        let name = arguments::text(js, js.element(names, index)?, "options")?;
        let key = CString::new(name.as_str())
            .map_err(|_| Failure::internal("the name of an option ends early"))?;
        if let Some(value) = plain(js, js.get(object, &key)?, (&name, depth))? {
            made = made.with(&name, value);
        }
    }
    Ok(made)
}

fn plain(js: Js<'_>, value: Value<'_>, (name, depth): (&str, usize)) -> Outcome<Option<Plain>> {
    let made = match js.type_of(value)? {
        Type::Undefined => return Ok(None),
        Type::Boolean => Plain::Flag(js.to_boolean(value)?),
        Type::Number => Plain::Number(js.to_number(value)?),
        Type::String => Plain::Text(arguments::text(js, value, name)?),
        Type::Object if depth == 0 => return Err(Failure::internal("options within options")),
        Type::Object if js.is_array(value)? => {
            let length = js.array_length(value)?;
            let elements = (0..length).map(|index| {
                let element = js.element(value, index)?;
                plain(js, element, (name, depth - 1))
            });
            // a hole in an array is skipped
            let elements: Outcome<Vec<_>> = elements.collect();
            Plain::List(elements?.into_iter().flatten().collect())
        }
        Type::Object => match js.with_bytes(value, <[u8]>::to_vec)? {
            Some(bytes) => Plain::Bytes(bytes),
            None => Plain::Fields(within(js, value, depth - 1)?),
        },
        _ => {
            let expected = "a boolean, number, string, bytes, array or object";
            return Err(arguments::wrong(js, value, name, expected));
        }
    };
    Ok(Some(made))
}

/// The deepest nesting of arrays and objects, which bounds the work for an object that contains itself.
const DEPTH: usize = 16;
