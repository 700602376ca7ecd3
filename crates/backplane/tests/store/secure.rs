//! What a server needs that is reached by TLS, asks nodes for certificates, and lets their user do no more than the store
//! needs. The certificates are made with the program `openssl`.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use millrace_backplane::{Config, Credentials, Server as Address, Tls};

use crate::server::is_required;

/// Whether there is `openssl`.
pub(crate) fn is_possible() -> bool {
    let version = Command::new("openssl").arg("version").output();
    let is_there = version.is_ok_and(|version| version.status.success());
    assert!(
        is_there || !is_required(),
        "openssl is missing: sudo apt-get install openssl"
    );
    is_there
}

/// Makes the certificates, and returns the options of a server with this port for TLS.
pub(crate) fn options(folder: &Path, port: u16) -> Vec<String> {
    let authority = "-subj /CN=authority -days 2 -addext basicConstraints=critical,CA:TRUE";
    openssl(
        folder,
        &format!("req -x509 {KEY} -keyout ca.key -out ca.pem {authority}"),
    );
    for (name, usage) in [("server", "serverAuth"), ("node", "clientAuth")] {
        let extensions = format!("subjectAltName=DNS:localhost\nextendedKeyUsage={usage}\n");
        fs::write(folder.join(format!("{name}.ext")), extensions).expect("the folder is writable");
        openssl(
            folder,
            &format!("req -new {KEY} -keyout {name}.key -out {name}.csr -subj /CN={name}"),
        );
        let signed = "-CA ca.pem -CAkey ca.key -CAcreateserial -days 2";
        openssl(
            folder,
            &format!("x509 -req -in {name}.csr -out {name}.pem -extfile {name}.ext {signed}"),
        );
    }
    let file = |name: &str| folder.join(name).display().to_string();
    let mut options = Vec::new();
    for (option, value) in [
        ("--tls-port", port.to_string()),
        ("--tls-cert-file", file("server.pem")),
        ("--tls-key-file", file("server.key")),
        ("--tls-ca-cert-file", file("ca.pem")),
        ("--tls-auth-clients", "yes".to_owned()),
    ] {
        options.extend([option.to_owned(), value]);
    }
    options.push("--user".to_owned());
    options.extend(USER.split_whitespace().map(str::to_owned));
    options
}

/// How a node reaches the server with these options; `None`: they are those of a server without TLS.
pub(crate) fn config(folder: &Path, options: &[String], plain: &Config) -> Option<Config> {
    let place = options.iter().position(|option| option == "--tls-port")?;
    let port = options.get(place + 1)?.parse().ok()?;
    let read = |name| fs::read(folder.join(name)).expect("the certificates were made");
    let mut config = plain.clone();
    config.servers = vec![Address {
        host: "localhost".to_owned(),
        port,
    }];
    config.tls = Some(Tls {
        authorities: read("ca.pem"),
        identity: Some((read("node.pem"), read("node.key"))),
        server_name: None,
    });
    config.credentials = Credentials {
        user: Some("node".to_owned()),
        password: Some("secret".to_owned()),
        ..Credentials::default()
    };
    Some(config)
}

fn openssl(folder: &Path, words: &str) {
    let done = Command::new("openssl")
        .args(words.split_whitespace())
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .expect("it has just run");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "openssl {words}: {said}");
}

const KEY: &str = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";

/// What the stores of histories and of members need, as the guide to several nodes says.
const USER: &str = "node on >secret ~app!* resetchannels &app!* -@all +hello +client +ping +evalsha +script|load \
    +subscribe +unsubscribe +publish +time +exists +del +hget +hset +hdel +hmget +pexpire +xadd +xrange +xrevrange \
    +hgetall +hscan +set +zadd +zrem +zremrangebyscore +zrevrange +zscore";
