//! TLS options from JavaScript: PEM as bytes. JavaScript has read the files.

use std::ffi::CStr;

use millrace_gateway::{ClientCertificates, Identity, TlsConfig};

use super::Options;
use crate::arguments;
use crate::failure::{Failure, Outcome};
use crate::js::{Js, Value};

/// Reads the option `tls` of a listener, if it is given.
pub(super) fn optional(options: &Options<'_>) -> Outcome<Option<TlsConfig>> {
    let js = options.js;
    let value = js.get(options.object, c"tls")?;
    if arguments::is_undefined(js, value)? {
        return Ok(None);
    }
    tls(js, value).map(Some)
}

/// Reads TLS options.
pub(crate) fn tls(js: Js<'_>, value: Value<'_>) -> Outcome<TlsConfig> {
    let options = Options { js, object: value };
    let mut config = TlsConfig {
        identity: identity(&options)?,
        authorities: options.bytes(c"ca")?.unwrap_or_default(),
        clients: match options.text(c"clientCertificates")?.as_deref() {
            None => ClientCertificates::Ignored,
            Some("optional") => ClientCertificates::Optional,
            Some("required") => ClientCertificates::Required,
            Some(_) => return Err(Failure::internal("unknown kind of client certificates")),
        },
        ..TlsConfig::default()
    };
    options.boolean(c"only13", &mut config.only_1_3)?;
    options.boolean(c"http2", &mut config.http2)?;
    config.alpn = alpn(&options)?;
    let names = js.get(value, c"names")?;
    for index in 0..js.array_length(names)? {
        let entry = Options {
            js,
            object: js.element(names, index)?,
        };
        if let (Some(name), Some(identity)) = (entry.text(c"name")?, identity(&entry)?) {
            config.names.push((name, identity));
        }
    }
    Ok(config)
}

pub(super) fn alpn(options: &Options<'_>) -> Outcome<Vec<Vec<u8>>> {
    let names = options.texts(c"alpn")?.unwrap_or_default();
    Ok(names.into_iter().map(String::into_bytes).collect())
}

pub(super) fn identity(options: &Options<'_>) -> Outcome<Option<Identity>> {
    let (chain, key) = (options.bytes(c"cert")?, options.bytes(c"key")?);
    Ok(chain.zip(key).map(|(chain, key)| Identity { chain, key }))
}

impl Options<'_> {
    pub(super) fn bytes(&self, name: &CStr) -> Outcome<Option<Vec<u8>>> {
        let value = self.js.get(self.object, name)?;
        if arguments::is_undefined(self.js, value)? {
            return Ok(None);
        }
        let copied = self.js.with_bytes(value, <[u8]>::to_vec)?;
        copied
            .map(Some)
            .ok_or_else(|| arguments::wrong(self.js, value, &name.to_string_lossy(), "bytes"))
    }
}
