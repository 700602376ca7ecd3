//! Configuration objects from JavaScript, which has checked them: every number is whole and in range.
//! Owns the names of the options; the defaults are the gateway's.

mod backplane;
mod resp;
mod tls;

use std::ffi::CStr;
use std::time::Duration;

use millrace_gateway::limits::{BackplaneFull, GatewayLimits, ListenerLimits, OutboxPolicy};
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
    options.number(c"connections", &mut limits.connections)?;
    options.number(
        c"connectionsPerAddress",
        &mut limits.connections_per_address,
    )?;
    options.number(c"outboxBytes", &mut limits.outbox_bytes)?;
    options.number(c"outboxFrames", &mut limits.outbox_frames)?;
    options.number(c"outboxReadPauseBytes", &mut limits.outbox_read_pause_bytes)?;
    options.number(c"outboxesTotalBytes", &mut limits.outboxes_total_bytes)?;
    options.duration(c"writeTimeoutMs", &mut limits.write_timeout)?;
    options.number(c"unhandledEvents", &mut limits.unhandled_events)?;
    options.number(c"unhandledBytes", &mut limits.unhandled_bytes)?;
    options.number(c"workerQueueEvents", &mut limits.worker_queue_events)?;
    options.number(c"workerQueueBytes", &mut limits.worker_queue_bytes)?;
    options.number(c"workerRequests", &mut limits.worker_requests)?;
    options.number(c"shardInboxBytes", &mut limits.shard_inbox_bytes)?;
    options.duration(c"workerTimeoutMs", &mut limits.worker_timeout)?;
    options.number(c"backplaneQueue", &mut limits.backplane_queue)?;
    options.number(c"backplaneQueueBytes", &mut limits.backplane_queue_bytes)?;
    options.number(
        c"backplaneMessageBytes",
        &mut limits.backplane_message_bytes,
    )?;
    options.duration(c"closeTimeoutMs", &mut limits.close_timeout)?;
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
        protocol: resp::protocol(&options)?,
        ..ListenerConfig::default()
    };
    options.boolean(c"proxyProtocol", &mut config.proxy_protocol)?;
    options.boolean(c"reusePort", &mut config.reuse_port)?;
    options.boolean(c"rawMethods", &mut config.raw_methods)?;
    listener_limits(&options, &mut config.limits)?;
    Ok(config)
}

fn listener_limits(options: &Options<'_>, limits: &mut ListenerLimits) -> Outcome<()> {
    options.duration(c"handshakeTimeoutMs", &mut limits.handshake_timeout)?;
    options.number(c"requestHeadBytes", &mut limits.request_head_bytes)?;
    options.number(c"requestHeaders", &mut limits.request_headers)?;
    options.number(c"requestTargetBytes", &mut limits.request_target_bytes)?;
    options.number(c"bodyBytes", &mut limits.body_bytes)?;
    options.duration(c"bodyTimeoutMs", &mut limits.body_timeout)?;
    options.duration(c"firstRequestTimeoutMs", &mut limits.first_request_timeout)?;
    options.duration(c"keepAliveTimeoutMs", &mut limits.keep_alive_timeout)?;
    options.number(c"keepAliveRequests", &mut limits.keep_alive_requests)?;
    options.duration(c"answerTimeoutMs", &mut limits.answer_timeout)?;
    options.number(c"messageBytes", &mut limits.message_bytes)?;
    options.duration(c"messageDeadlineMs", &mut limits.message_deadline)?;
    options.duration(c"pingIntervalMs", &mut limits.ping_interval)?;
    options.duration(c"pongTimeoutMs", &mut limits.pong_timeout)?;
    options.duration(c"idleTimeoutMs", &mut limits.idle_timeout)?;
    options.number(c"http2Streams", &mut limits.http2_streams)?;
    options.duration(c"http2IdleTimeoutMs", &mut limits.http2_idle_timeout)?;
    options.number(
        c"controlFramesPerSecond",
        &mut limits.control_frames_per_second,
    )?;
    options.number(c"controlFramesBurst", &mut limits.control_frames_burst)?;
    options.number(c"messagesPerSecond", &mut limits.messages_per_second)?;
    options.number(
        c"subscriptionsPerSocket",
        &mut limits.subscriptions_per_socket,
    )?;
    options.number(c"keysBytes", &mut limits.keys_bytes)?;
    options.number(c"staticCacheBytes", &mut limits.static_cache_bytes)?;
    options.number(c"staticCacheFileBytes", &mut limits.static_cache_file_bytes)?;
    options.duration(c"staticCheckMs", &mut limits.static_check)
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
        let value = self.js.get(self.object, name)?;
        if arguments::is_undefined(self.js, value)? {
            return Ok(());
        }
        let number = self
            .js
            .to_number(value)
            .ok()
            .and_then(numbers::to_u64)
            .and_then(|whole| T::try_from(whole).ok());
        let Some(number) = number else {
            return Err(arguments::wrong(
                self.js,
                value,
                &name.to_string_lossy(),
                "a whole number in range",
            ));
        };
        *place = number;
        Ok(())
    }

    /// Sets `place` if the option is given.
    fn boolean(&self, name: &CStr, place: &mut bool) -> Outcome<()> {
        let value = self.js.get(self.object, name)?;
        if !arguments::is_undefined(self.js, value)? {
            *place = self.js.to_boolean(value)?;
        }
        Ok(())
    }

    /// Sets `place` if the option is given, in milliseconds.
    fn duration(&self, name: &CStr, place: &mut Duration) -> Outcome<()> {
        let mut milliseconds = u64::try_from(place.as_millis()).unwrap_or(u64::MAX);
        self.number(name, &mut milliseconds)?;
        *place = Duration::from_millis(milliseconds);
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
