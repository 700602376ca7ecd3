//! The first line that a client sends to a NATS server. Owns how it proves who we are.

use super::line::quote;
use crate::config::Credentials;

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Publications that are not kept.
    Plain,
    /// JetStream, which needs headers, and answers at once where nobody is there to answer.
    Streams,
}

/// Appends `CONNECT`. `nonce` is what the server wants signed.
pub(crate) fn connect(credentials: &Credentials, nonce: &str, purpose: Purpose, out: &mut Vec<u8>) {
    let Credentials {
        user,
        password,
        token,
        signer,
    } = credentials;
    out.extend_from_slice(
        b"CONNECT {\"verbose\":false,\"pedantic\":false,\"echo\":false,\
        \"lang\":\"rust\",\"version\":\"1\",\"protocol\":1,\"name\":\"millrace\"",
    );
    out.extend_from_slice(match purpose {
        Purpose::Plain => b",\"headers\":false",
        Purpose::Streams => b",\"headers\":true,\"no_responders\":true",
    });
    let given = [("user", user), ("pass", password), ("auth_token", token)];
    let given = given.map(|(name, value)| Some((name, value.clone()?)));
    let signed = signer.as_ref().map(|signer| signer.fields(nonce));
    let all = given.into_iter().flatten();
    for (name, value) in all.chain(signed.into_iter().flatten()) {
        out.extend_from_slice(format!(",\"{name}\":").as_bytes());
        quote(&value, out);
    }
    out.extend_from_slice(b"}\r\n");
}
