//! Chooses the certificate for a client by the host name that it asks for.

use std::sync::Arc;

use ahash::AHashMap;
use tokio_rustls::rustls::pki_types::DnsName;
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;

/// See the module.
#[derive(Debug)]
pub(super) struct Names {
    others: Option<Arc<CertifiedKey>>,
    /// Names in lower case.
    exact: AHashMap<String, Arc<CertifiedKey>>,
    /// What follows `*.`, in lower case.
    wild: AHashMap<String, Arc<CertifiedKey>>,
}

impl Names {
    /// `others` is for clients that name no host or an unknown one.
    pub(super) fn new(others: Option<Arc<CertifiedKey>>) -> Self {
        Self {
            others,
            exact: AHashMap::new(),
            wild: AHashMap::new(),
        }
    }

    /// Adds a name. False: it is not a host name.
    pub(super) fn add(&mut self, name: &str, key: Arc<CertifiedKey>) -> bool {
        let (names, name) = match name.strip_prefix("*.") {
            Some(rest) => (&mut self.wild, rest),
            None => (&mut self.exact, name),
        };
        if DnsName::try_from(name).is_err() {
            return false;
        }
        names.insert(name.to_ascii_lowercase(), key);
        true
    }

    fn find(&self, asked: Option<&str>) -> Option<&Arc<CertifiedKey>> {
        let found = asked.and_then(|name| {
            let name = name.to_ascii_lowercase();
            let wild = || self.wild.get(name.split_once('.')?.1);
            self.exact.get(&name).or_else(wild)
        });
        found.or(self.others.as_ref())
    }
}

impl ResolvesServerCert for Names {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.find(hello.server_name()).map(Arc::clone)
    }
}
