//! The backplane option from JavaScript, which has checked it and read its files.

use millrace_gateway::{
    BackplaneBounds, BackplaneConfig, BackplaneCredentials, BackplaneProtocol, BackplaneSentinel,
    BackplaneServer, BackplaneSigner, BackplaneTls,
};

use super::Options;
use crate::arguments;
use crate::failure::{Failure, Outcome};

/// Reads the option `backplane`, if it is given.
pub(super) fn optional(options: &Options<'_>) -> Outcome<Option<BackplaneConfig>> {
    let js = options.js;
    let value = js.get(options.object, c"backplane")?;
    if arguments::is_undefined(js, value)? {
        return Ok(None);
    }
    let own = Options { js, object: value };
    let protocol = match own.text(c"protocol")?.as_deref() {
        Some("redis") => BackplaneProtocol::Redis,
        Some("redis-cluster") => BackplaneProtocol::RedisCluster,
        Some("nats") => BackplaneProtocol::Nats,
        _ => return Err(Failure::internal("unknown protocol of a backplane")),
    };
    Ok(Some(BackplaneConfig {
        protocol,
        servers: servers(&own)?,
        prefix: own.text(c"prefix")?.unwrap_or_default(),
        sentinel: sentinel(&own)?,
        credentials: BackplaneCredentials {
            user: own.text(c"user")?,
            password: own.text(c"password")?,
            token: own.text(c"token")?,
            signer: signer(&own)?,
        },
        tls: tls(&own)?,
        // the gateway replaces these by its limits
        bounds: BackplaneBounds::default(),
        // and these by the terms of channels
        histories: Vec::new(),
    }))
}

fn servers(options: &Options<'_>) -> Outcome<Vec<BackplaneServer>> {
    let js = options.js;
    let list = js.get(options.object, c"servers")?;
    let mut servers = Vec::new();
    for index in (1..js.array_length(list)?).step_by(2) {
        servers.push(BackplaneServer {
            host: arguments::text(js, js.element(list, index - 1)?, "servers")?,
            port: arguments::whole(js, js.element(list, index)?, "servers")
                .map(u16::try_from)?
                .map_err(|_| Failure::internal("a port out of range"))?,
        });
    }
    Ok(servers)
}

fn sentinel(options: &Options<'_>) -> Outcome<Option<BackplaneSentinel>> {
    let js = options.js;
    let value = js.get(options.object, c"sentinel")?;
    if arguments::is_undefined(js, value)? {
        return Ok(None);
    }
    let own = Options { js, object: value };
    Ok(Some(BackplaneSentinel {
        master: own.text(c"master")?.unwrap_or_default(),
        user: own.text(c"user")?,
        password: own.text(c"password")?,
    }))
}

fn signer(options: &Options<'_>) -> Outcome<Option<BackplaneSigner>> {
    let refused =
        |option: &str, error| Failure::Argument(format!("options.backplane.{option} {error}"));
    if let Some(contents) = options.bytes(c"credentials")? {
        let signer = BackplaneSigner::from_file(&contents);
        return signer
            .map(Some)
            .map_err(|error| refused("credentials", error));
    }
    let Some(seed) = options.text(c"nkey")? else {
        return Ok(None);
    };
    let signer = BackplaneSigner::from_seed(&seed);
    signer.map(Some).map_err(|error| refused("nkey", error))
}

fn tls(options: &Options<'_>) -> Outcome<Option<BackplaneTls>> {
    let js = options.js;
    let value = js.get(options.object, c"tls")?;
    if arguments::is_undefined(js, value)? {
        return Ok(None);
    }
    let own = Options { js, object: value };
    Ok(Some(BackplaneTls {
        authorities: own.bytes(c"ca")?.unwrap_or_default(),
        identity: own.bytes(c"cert")?.zip(own.bytes(c"key")?),
        server_name: own.text(c"servername")?,
    }))
}
