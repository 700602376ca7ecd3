//! Configuration objects from JavaScript, which has checked them: every number is whole and in range.
//! Owns the names of the options, but for the limits: their names and all defaults are the gateway's.

mod backplane;
mod plain;
mod tls;

use std::ffi::{CStr, CString};

use millrace_gateway::limits::{
    BackplaneFull, GatewayLimits, LimitError, ListenerLimits, OutboxPolicy,
};
use millrace_gateway::{
    GatewayConfig, Immutable, ListenerConfig, Origins, StaticConfig, StatusPaths, Trusted,
};

use crate::arguments;
use crate::failure::{Failure, Outcome};
use crate::js::{Js, Type, Value};
use crate::numbers;

/// The options that the first start fixes.
pub(crate) fn gateway(js: Js<'_>, options: Value<'_>) -> Outcome<GatewayConfig> {
    let options = Options {
        js,
        object: options,
    };
    let mut config = GatewayConfig::default();
    options.number(c"ioThreads", &mut config.io_threads)?;
    options.boolean(c"ioUring", &mut config.io_uring)?;
    gateway_limits(&options, &mut config.limits)?;
    config.backplane = backplane::optional(&options)?;
    Ok(config)
}

fn gateway_limits(options: &Options<'_>, limits: &mut GatewayLimits) -> Outcome<()> {
    options.limits(GatewayLimits::options(), |name, value| {
        limits.set(name, value)
    })?;
    if let Some(policy) = options.text(c"outboxPolicy")? {
        limits.outbox_policy = match policy.as_str() {
            "close" => OutboxPolicy::Close,
            "dropNewest" => OutboxPolicy::DropNewest,
            "dropOldest" => OutboxPolicy::DropOldest,
            _ => return Err(Failure::internal("unknown outbox policy")),
        };
    }
    if let Some(full) = options.text(c"backplaneFull")? {
        limits.backplane_full = match full.as_str() {
            "wait" => BackplaneFull::Wait,
            "drop" => BackplaneFull::Drop,
            _ => return Err(Failure::internal("unknown word for a full backplane")),
        };
    }
    Ok(())
}

/// The options of one listener.
pub(crate) fn listener(js: Js<'_>, options: Value<'_>) -> Outcome<ListenerConfig> {
    let options = Options {
        js,
        object: options,
    };
    let address = options.text(c"address")?.unwrap_or_default();
    let mut config = ListenerConfig {
        address,
        origins: origins(&options)?,
        tls: tls::optional(&options)?,
        events: options.text(c"events")?,
        status: StatusPaths {
            stats: options.text(c"stats")?,
            metrics: options.text(c"metrics")?,
        },
        trusted: trusted(&options)?,
        files: options.list(c"static", static_files)?,
        websocket_paths: options.texts(c"websocketPaths")?,
        ..ListenerConfig::default()
    };
    if let Some(protocol) = options.text(c"protocol")? {
        config.protocol = protocol;
    }
    let own = js.get(options.object, c"options")?;
    if !arguments::is_undefined(js, own)? {
        config.options = plain::options(js, own)?;
    }
    options.boolean(c"proxyProtocol", &mut config.proxy_protocol)?;
    options.boolean(c"reusePort", &mut config.reuse_port)?;
    options.boolean(c"rawMethods", &mut config.raw_methods)?;
    let limits = &mut config.limits;
    options.limits(ListenerLimits::options(), |name, value| {
        limits.set(name, value)
    })?;
    Ok(config)
}

/// One directory whose files are served.
fn static_files(js: Js<'_>, object: Value<'_>) -> Outcome<StaticConfig> {
    let options = Options { js, object };
    let mut config = StaticConfig::new(options.text(c"directory")?.unwrap_or_default());
    if let Some(path) = options.text(c"path")? {
        config.path = path;
    }
    config.fallback = options.text(c"fallback")?;
    config.not_found = options.text(c"notFound")?;
    options.boolean(c"dotfiles", &mut config.dotfiles)?;
    options.boolean(c"precompressed", &mut config.precompressed)?;
    // the empty text: no such header
    if let Some(value) = options.text(c"cacheControl")? {
        config.cache_control = (!value.is_empty()).then_some(value);
    }
    let mut hashed = true;
    options.boolean(c"hashedNames", &mut hashed)?;
    let below = options.list(c"immutable", |js, path| {
        arguments::text(js, path, "immutable")
    })?;
    config.immutable = match (below.is_empty(), hashed) {
        (false, _) => Immutable::Below(below),
        (true, true) => Immutable::HashedNames,
        (true, false) => Immutable::Never,
    };
    let mut headers = options
        .list(c"headers", |js, text| arguments::text(js, text, "headers"))?
        .into_iter();
    while let (Some(name), Some(value)) = (headers.next(), headers.next()) {
        config.headers.push((name, value));
    }
    Ok(config)
}

fn origins(options: &Options<'_>) -> Outcome<Origins> {
    let js = options.js;
    let value = js.get(options.object, c"origins")?;
    match js.type_of(value)? {
        Type::Undefined => Ok(Origins::Any),
        Type::String => match arguments::text(js, value, "origins")?.as_str() {
            "*" => Ok(Origins::Any),
            "same-host" => Ok(Origins::SameHost),
            _ => Err(arguments::wrong(
                js,
                value,
                "origins",
                "'*', 'same-host' or an array",
            )),
        },
        _ => texts(js, value, "origins").map(Origins::List),
    }
}

fn trusted(options: &Options<'_>) -> Outcome<Trusted> {
    let js = options.js;
    let value = js.get(options.object, c"trustProxy")?;
    if arguments::is_undefined(js, value)? {
        return Ok(Trusted::default());
    }
    Trusted::parse(texts(js, value, "trustProxy")?)
        .map_err(|error| Failure::Argument(error.to_string()))
}

fn texts(js: Js<'_>, array: Value<'_>, name: &str) -> Outcome<Vec<String>> {
    let mut list = Vec::new();
    for index in 0..js.array_length(array)? {
        list.push(arguments::text(js, js.element(array, index)?, name)?);
    }
    Ok(list)
}

pub(crate) use tls::tls;

/// An options object.
struct Options<'s> {
    js: Js<'s>,
    object: Value<'s>,
}

impl Options<'_> {
    /// Sets `place` if the option is given.
    fn number<T: TryFrom<u64>>(&self, name: &CStr, place: &mut T) -> Outcome<()> {
        let set = |whole| T::try_from(whole).map(|number| *place = number);
        self.whole(name, set)
    }

    /// Sets those limits that are given, by their names.
    fn limits(
        &self,
        names: Vec<String>,
        mut set: impl FnMut(&str, u64) -> Result<(), LimitError>,
    ) -> Outcome<()> {
        for name in names {
            let key = CString::new(name.as_str())
                .map_err(|_| Failure::internal("the name of a limit ends early"))?;
            self.whole(&key, |value| set(&name, value))?;
        }
        Ok(())
    }

    /// Hands the option over if it is given: a whole number that `set` takes.
    fn whole<E>(&self, name: &CStr, set: impl FnOnce(u64) -> Result<(), E>) -> Outcome<()> {
        let value = self.js.get(self.object, name)?;
        if arguments::is_undefined(self.js, value)? {
            return Ok(());
        }
        let number = self.js.to_number(value).ok().and_then(numbers::to_u64);
        if number.is_some_and(|whole| set(whole).is_ok()) {
            return Ok(());
        }
        let name = name.to_string_lossy();
        Err(arguments::wrong(
            self.js,
            value,
            &name,
            "a whole number in range",
        ))
    }

    /// Sets `place` if the option is given.
    fn boolean(&self, name: &CStr, place: &mut bool) -> Outcome<()> {
        let value = self.js.get(self.object, name)?;
        if !arguments::is_undefined(self.js, value)? {
            *place = self.js.to_boolean(value)?;
        }
        Ok(())
    }

    /// The elements of an array; none, if it is not given.
    fn list<T>(
        &self,
        name: &CStr,
        read: impl Fn(Js<'_>, Value<'_>) -> Outcome<T>,
    ) -> Outcome<Vec<T>> {
        let list = self.js.get(self.object, name)?;
        if arguments::is_undefined(self.js, list)? {
            return Ok(Vec::new());
        }
        let mut elements = Vec::new();
        for index in 0..self.js.array_length(list)? {
            elements.push(read(self.js, self.js.element(list, index)?)?);
        }
        Ok(elements)
    }

    fn texts(&self, name: &CStr) -> Outcome<Option<Vec<String>>> {
        let value = self.js.get(self.object, name)?;
        if arguments::is_undefined(self.js, value)? {
            return Ok(None);
        }
        let mut list = Vec::new();
        for index in 0..self.js.array_length(value)? {
            let text = self.js.element(value, index)?;
            list.push(arguments::text(self.js, text, &name.to_string_lossy())?);
        }
        Ok(Some(list))
    }

    fn text(&self, name: &CStr) -> Outcome<Option<String>> {
        let value = self.js.get(self.object, name)?;
        if arguments::is_undefined(self.js, value)? {
            return Ok(None);
        }
        arguments::text(self.js, value, &name.to_string_lossy()).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use millrace_gateway::limits::ScriptLimits;

    use super::*;

    /// Two programs make the options' names of those of the limits: this crate, and what generates the types.
    #[test]
    fn the_limits_of_javascript_are_those_of_the_gateway() {
        let generated = include_str!("../../../js/src/limits.generated.ts");
        let of_javascript: BTreeSet<&str> = generated
            .lines()
            .filter_map(|line| line.trim().split_once(": { least: "))
            .map(|(option, _)| option)
            .collect();
        let options = [
            ListenerLimits::options(),
            GatewayLimits::options(),
            ScriptLimits::options(),
        ]
        .concat();
        let options: BTreeSet<&str> = options.iter().map(String::as_str).collect();
        assert_eq!(options, of_javascript);
    }
}
