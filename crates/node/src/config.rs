//! Configuration objects from JavaScript, which has checked that every number is whole and in range. Owns the names of
//! the options, except the limits, whose names and defaults are the gateway's. The options of a listener are passed on
//! unchanged, because only its protocol knows all of them.

mod backplane;
mod dial;
mod plain;
mod tls;

use std::ffi::{CStr, CString};

use millrace_gateway::HistoryTerms;
use millrace_gateway::config::{ChannelTerms, ClientPublishing, ClientTerms};
use millrace_gateway::limits::{
    BackplaneFull, GatewayLimits, LimitError, OutboxPolicy, Table as _,
};
use millrace_gateway::{GatewayConfig, ListenerConfig, Pattern, Trusted};

use crate::arguments;
use crate::failure::{Failure, Outcome};
use crate::js::{Js, Value};
use crate::numbers;

/// Reads the options that the first start fixes.
pub(crate) fn gateway(js: Js<'_>, options: Value<'_>) -> Outcome<GatewayConfig> {
    let options = Options {
        js,
        object: options,
    };
    let mut config = GatewayConfig::default();
    options.number(c"ioThreads", &mut config.io_threads)?;
    options.boolean(c"ioUring", &mut config.io_uring)?;
    config.channels = channels(&options)?;
    gateway_limits(&options, &mut config.limits)?;
    config.backplane = backplane::optional(&options)?;
    Ok(config)
}

fn channels(options: &Options<'_>) -> Outcome<Vec<ChannelTerms>> {
    let js = options.js;
    let list = js.get(options.object, c"channels")?;
    if arguments::is_undefined(js, list)? {
        return Ok(Vec::new());
    }
    (0..js.array_length(list)?)
        .map(|index| {
            let object = js.element(list, index)?;
            let terms = Options { js, object };
            let text = terms.text(c"pattern")?.unwrap_or_default();
            let mut compress = true;
            terms.boolean(c"compress", &mut compress)?;
            let mut clients = ClientTerms::default();
            terms.boolean(c"subscribe", &mut clients.subscribe)?;
            terms.boolean(c"info", &mut clients.info)?;
            let mut presence = false;
            terms.boolean(c"presence", &mut presence)?;
            let (mut publish, mut shows_publisher) = (false, false);
            terms.boolean(c"publish", &mut publish)?;
            terms.boolean(c"showsPublisher", &mut shows_publisher)?;
            clients.publish = match (publish, shows_publisher) {
                (false, _) => ClientPublishing::Denied,
                (true, false) => ClientPublishing::Unnamed,
                (true, true) => ClientPublishing::Named,
            };
            let pattern = Pattern::new(text.as_bytes())
                .map_err(|error| Failure::Argument(format!("option 'channels': {error}")))?;
            Ok(ChannelTerms {
                pattern,
                text: text.into_bytes().into(),
                compress,
                clients,
                history: history(&terms)?,
                presence,
            })
        })
        .collect()
}

/// What is kept of the channels with these terms.
fn history(terms: &Options<'_>) -> Outcome<Option<HistoryTerms>> {
    let js = terms.js;
    let object = js.get(terms.object, c"history")?;
    if arguments::is_undefined(js, object)? {
        return Ok(None);
    }
    let history = Options { js, object };
    let (mut messages, mut age_ms) = (0, 0);
    history.number(c"messages", &mut messages)?;
    history.number(c"ageMs", &mut age_ms)?;
    Ok(Some(HistoryTerms { messages, age_ms }))
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

/// Reads the options of one listener.
pub(crate) fn listener(js: Js<'_>, options: Value<'_>) -> Outcome<ListenerConfig> {
    let options = Options {
        js,
        object: options,
    };
    let address = options.text(c"address")?.unwrap_or_default();
    let mut config = ListenerConfig {
        address,
        tls: tls::optional(&options)?,
        trusted: trusted(&options)?,
        ..ListenerConfig::default()
    };
    if let Some(protocol) = options.text(c"protocol")? {
        config.protocol = protocol;
    }
    let own = js.get(options.object, c"options")?;
    if !arguments::is_undefined(js, own)? {
        config.options = plain::options(js, own)?;
    }
    options.boolean(c"attached", &mut config.attached)?;
    options.boolean(c"proxyProtocol", &mut config.proxy_protocol)?;
    options.boolean(c"reusePort", &mut config.reuse_port)?;
    options.number(c"backlog", &mut config.backlog)?;
    let own = js.get(options.object, c"limits")?;
    if !arguments::is_undefined(js, own)? {
        let limits = Options { js, object: own };
        limits.limits(limits.names("limits")?, |name, value| {
            config.set_limit(name, value)
        })?;
    }
    Ok(config)
}

fn trusted(options: &Options<'_>) -> Outcome<Trusted> {
    let texts = options.texts(c"trustProxy")?.unwrap_or_default();
    Trusted::parse(texts).map_err(|error| Failure::Argument(error.to_string()))
}

pub(crate) use dial::dial;
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

    /// Sets the given limits by their names.
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

    /// Passes the option to `set` if it is given and is a whole number.
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

    /// The names of the object's own properties.
    fn names(&self, at: &str) -> Outcome<Vec<String>> {
        let names = self.js.names(self.object)?;
        let length = self.js.array_length(names)?;
        (0..length)
            .map(|index| arguments::text(self.js, self.js.element(names, index)?, at))
            .collect()
    }

    /// Sets `place` if the option is given.
    fn boolean(&self, name: &CStr, place: &mut bool) -> Outcome<()> {
        let value = self.js.get(self.object, name)?;
        if !arguments::is_undefined(self.js, value)? {
            *place = self.js.to_boolean(value)?;
        }
        Ok(())
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
