//! The options of an outbound connection: the address of its peer, TLS, and the protocol.

use std::ffi::CStr;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use millrace_gateway::{ClientTls, DialConfig, DialTarget};

use super::{Options, listener};
use crate::arguments;
use crate::failure::{Failure, Outcome};
use crate::js::{Js, Value};

/// Reads the options of an outbound connection.
pub(crate) fn dial(js: Js<'_>, value: Value<'_>) -> Outcome<DialConfig> {
    let options = Options { js, object: value };
    Ok(DialConfig {
        target: target(&options)?,
        tls: tls(&options)?,
        terms: listener(js, value)?,
    })
}

fn target(options: &Options<'_>) -> Outcome<DialTarget> {
    if let Some(path) = options.text(c"path")? {
        return Ok(DialTarget::Unix(path.into()));
    }
    let addresses = options.texts(c"addresses")?.unwrap_or_default();
    let addresses: Outcome<Vec<SocketAddr>> = addresses
        .iter()
        .map(|text| parsed(text, c"addresses"))
        .collect();
    let local = options.text(c"local")?;
    let local = local.map(|text| parsed::<IpAddr>(&text, c"local"));
    Ok(DialTarget::Tcp {
        addresses: addresses?,
        local: local.transpose()?,
    })
}

fn parsed<T: FromStr>(text: &str, name: &CStr) -> Outcome<T> {
    text.parse().map_err(|_| {
        let name = name.to_string_lossy();
        Failure::Argument(format!("{name}: '{text}' is not an address"))
    })
}

fn tls(options: &Options<'_>) -> Outcome<Option<ClientTls>> {
    let js = options.js;
    let value = js.get(options.object, c"clientTls")?;
    if arguments::is_undefined(js, value)? {
        return Ok(None);
    }
    let options = Options { js, object: value };
    let mut tls = ClientTls {
        server_name: options.text(c"serverName")?.unwrap_or_default(),
        authorities: options.bytes(c"ca")?.unwrap_or_default(),
        identity: super::tls::identity(&options)?,
        alpn: super::tls::alpn(&options)?,
        ..ClientTls::default()
    };
    options.boolean(c"acceptAny", &mut tls.accept_any)?;
    Ok(Some(tls))
}
