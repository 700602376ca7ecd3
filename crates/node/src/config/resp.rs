//! The options of a listener that speaks RESP, as JavaScript checked them.

use millrace_gateway::{Protocol, PublishAs, RespConfig, RespUser};

use super::Options;
use crate::arguments;
use crate::failure::{Failure, Outcome};

/// What the listener speaks.
pub(super) fn protocol(options: &Options<'_>) -> Outcome<Protocol> {
    let js = options.js;
    let object = js.get(options.object, c"resp")?;
    if arguments::is_undefined(js, object)? {
        return Ok(Protocol::Http);
    }
    let options = Options { js, object };
    let publish_as = match options.text(c"publishAs")?.as_deref() {
        None | Some("auto") => PublishAs::Auto,
        Some("text") => PublishAs::Text,
        Some("binary") => PublishAs::Binary,
        Some(_) => return Err(Failure::internal("unknown kind of messages")),
    };
    let users = options.list(c"users", |js, object| {
        let user = Options { js, object };
        Ok(RespUser {
            name: user.text(c"name")?.unwrap_or_default(),
            password: user.text(c"password")?.unwrap_or_default(),
            channels: user.texts(c"channels")?,
            keys: user.texts(c"keys")?,
            commands: user.texts(c"commands")?,
        })
    })?;
    Ok(Protocol::Resp(RespConfig {
        password: options.text(c"password")?,
        users,
        publish_as,
    }))
}
