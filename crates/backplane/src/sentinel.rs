//! Redis Sentinel: asks a Sentinel which server is the master. Owns that short conversation.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::config::{Config, Sentinel, Server};
use crate::connection;
use crate::link_error::LinkError;
use crate::tls::Encryption;
use crate::wire::{Master, MasterQuery};

/// The server to connect to: the master that this one knows if it is a Sentinel, otherwise itself.
pub(crate) async fn resolve(
    config: &Config,
    server: &Server,
    encryption: Option<&Encryption>,
) -> Result<Server, LinkError> {
    match &config.sentinel {
        Some(sentinel) => master(sentinel, server, encryption).await,
        None => Ok(server.clone()),
    }
}

/// Asks the Sentinel on this server for the master.
///
/// Source: <https://redis.io/docs/latest/develop/reference/sentinel-clients/>, steps 1 and 2; the connection to the
/// master does step 3, the check of its role.
async fn master(
    sentinel: &Sentinel,
    server: &Server,
    encryption: Option<&Encryption>,
) -> Result<Server, LinkError> {
    let tcp = connection::connect(server).await?;
    let mut stream = connection::secured(tcp, server, encryption).await?;
    let io = |source| LinkError::io(server, source);
    let mut query = MasterQuery::default();
    let request = query.request(sentinel);
    stream.write_all(&request).await.map_err(io)?;
    stream.flush().await.map_err(io)?;
    let mut input = Vec::new();
    loop {
        let outcome = query.read(&input);
        match outcome.map_err(|source| LinkError::wire(server, source))? {
            Master::Unread => {}
            Master::Unknown => {
                let name = sentinel.master.clone();
                return Err(LinkError::NoMaster(server.clone(), name));
            }
            Master::At(host, port) => return Ok(Server { host, port }),
        }
        // what was asked for has fewer bytes than one read
        if input.len() > MOST_INPUT || stream.read_buf(&mut input).await.map_err(io)? == 0 {
            return Err(LinkError::Closed(server.clone()));
        }
    }
}

/// The most bytes that a Sentinel may send before its answer is complete.
const MOST_INPUT: usize = 16 * 1024;
