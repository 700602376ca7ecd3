//! A server of the tests' own, which they can stop, start again and manipulate. Owns its process and its folder.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use millrace_backplane::{BackplaneFull, Bounds, Config, Credentials, Protocol, Server as Address};
use redis::{Client, Connection, FromRedisValue, ToRedisArgs};

use crate::ports::free_port;
use crate::secure;

/// Only bounds a hang: a busy machine may not schedule a thread for seconds.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// See the module.
pub(crate) struct Server {
    port: u16,
    folder: PathBuf,
    options: Vec<String>,
    child: Child,
}

impl Server {
    /// Starts a server that keeps its data over restarts; `None` if there is no program for it. With
    /// `MILLRACE_TEST_STORE=tls` nodes reach it as one that [`start_secure`](Self::start_secure) has started.
    pub(crate) fn start() -> Option<Self> {
        if env::var("MILLRACE_TEST_STORE").is_ok_and(|value| value == "tls") {
            return Some(Self::start_secure().expect("there is redis-server, and openssl"));
        }
        Self::spawn(|_| KEEPING.map(str::to_owned).to_vec())
    }

    /// The same for nodes with certificates and a user who may do little; `None` also without `openssl`.
    pub(crate) fn start_secure() -> Option<Self> {
        if !secure::is_possible() {
            return None;
        }
        for _ in 0..3 {
            let server = Self::spawn_once(&|folder| {
                let secure = secure::options(folder, free_port());
                let keeping = KEEPING.map(str::to_owned);
                keeping.into_iter().chain(secure).collect()
            });
            let (server, is_ready) = server?;
            if is_ready {
                return Some(server);
            }
        }
        assert!(!is_required(), "redis-server has no TLS");
        None
    }

    /// Starts a Sentinel that calls this master `mymaster`.
    pub(crate) fn start_sentinel(master: &Self) -> Option<Self> {
        Self::spawn(|folder| {
            let file = folder.join("sentinel.conf");
            let says = format!("sentinel monitor mymaster 127.0.0.1 {} 1\n", master.port);
            fs::write(&file, says).expect("the folder can be written to");
            vec![file.display().to_string(), "--sentinel".to_owned()]
        })
    }

    /// Starts a node of a cluster that has no slots yet; `None` also for servers without sharded channels.
    pub(crate) fn start_cluster_node() -> Option<Self> {
        let version = Command::new(program()).arg("--version").output().ok()?;
        if String::from_utf8_lossy(&version.stdout).contains(" v=6.") {
            return None;
        }
        Self::spawn(|_| {
            let bus = free_port().to_string();
            let options = ["--cluster-enabled", "yes", "--cluster-port", &bus];
            options.map(str::to_owned).to_vec()
        })
    }

    /// The port of the server, and the other port of a cluster's node.
    pub(crate) fn ports(&self) -> [String; 2] {
        let bus = self.options.last().cloned().unwrap_or_default();
        [self.port.to_string(), bus]
    }

    fn spawn(options: impl Fn(&Path) -> Vec<String>) -> Option<Self> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let (server, is_ready) = Self::spawn_once(&options)?;
            if is_ready {
                return Some(server);
            }
            // another program has taken the port
            assert!(Instant::now() < deadline, "redis-server starts");
        }
    }

    /// Returns whether it is ready, too; otherwise it has ended at once.
    fn spawn_once(options: &impl Fn(&Path) -> Vec<String>) -> Option<(Self, bool)> {
        let port = free_port();
        let name = format!("millrace-store-{}-{port}", std::process::id());
        let folder = env::temp_dir().join(name);
        fs::create_dir_all(&folder).expect("a folder can be made");
        let options = options(&folder);
        let Some(child) = spawn(port, &folder, &options) else {
            assert!(
                !is_required(),
                "redis-server is missing: sudo apt-get install redis-server"
            );
            let _stays_in_the_temporary_folder = fs::remove_dir_all(&folder);
            return None;
        };
        let mut server = Self {
            port,
            folder,
            options,
            child,
        };
        let is_ready = server.is_ready();
        Some((server, is_ready))
    }

    /// Waits until it answers; false if it has ended.
    fn is_ready(&mut self) -> bool {
        let deadline = Instant::now() + TIMEOUT;
        while self.try_connect().is_none() {
            if self.child.try_wait().expect("it is our child").is_some() {
                return false;
            }
            assert!(Instant::now() < deadline, "redis-server answers");
            std::thread::sleep(Duration::from_millis(10));
        }
        true
    }

    /// Kills it.
    pub(crate) fn stop(&mut self) {
        let _ended_already = self.child.kill();
        self.child.wait().expect("it is our child");
    }

    /// Starts it again with its data.
    pub(crate) fn start_again(&mut self) {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let child = spawn(self.port, &self.folder, &self.options);
            self.child = child.expect("there was a program before");
            if self.is_ready() {
                return;
            }
            assert!(Instant::now() < deadline, "redis-server starts again");
            self.stop();
        }
    }

    fn try_connect(&self) -> Option<Connection> {
        let client = Client::open(format!("redis://127.0.0.1:{}/", self.port));
        let mut connection = client
            .expect("the address is valid")
            .get_connection()
            .ok()?;
        let pong: String = redis::cmd("PING").query(&mut connection).ok()?;
        (pong == "PONG").then_some(connection)
    }

    /// A command of an operator or of another program.
    pub(crate) fn ask<T: FromRedisValue>(&self, words: &[&str]) -> T {
        self.ask_bytes(&words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>())
    }

    /// The same with bytes.
    pub(crate) fn ask_bytes<T: FromRedisValue>(&self, words: &[impl ToRedisArgs]) -> T {
        let mut connection = self.try_connect().expect("the server runs");
        let mut command = redis::Cmd::new();
        for word in words {
            command.arg(word);
        }
        command.query(&mut connection).expect("the server does it")
    }

    /// Cuts the connections of all nodes.
    pub(crate) fn cut(&self) {
        let _killed: i64 = self.ask(&["CLIENT", "KILL", "SKIPME", "yes"]);
    }

    /// The configuration of a node.
    pub(crate) fn config(&self) -> Config {
        let plain = config(self.port);
        secure::config(&self.folder, &self.options, &plain).unwrap_or(plain)
    }

    /// The configuration of a node without TLS, as the default user.
    pub(crate) fn plain_config(&self) -> Config {
        config(self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
        let _stays_in_the_temporary_folder = fs::remove_dir_all(&self.folder);
    }
}

/// The configuration of a node whose server has this port.
pub(crate) fn config(port: u16) -> Config {
    Config {
        protocol: Protocol::Redis,
        servers: vec![Address {
            host: "127.0.0.1".to_owned(),
            port,
        }],
        prefix: "app".to_owned(),
        sentinel: None,
        credentials: Credentials::default(),
        tls: None,
        bounds: Bounds {
            queue_messages: 10_000,
            queue_bytes: 64 * 1024 * 1024,
            message_bytes: 1024 * 1024,
            full: BackplaneFull::default(),
        },
        histories: Vec::new(),
    }
}

/// Everything that was accepted is kept.
const KEEPING: [&str; 6] = [
    "--appendonly",
    "yes",
    "--appendfsync",
    "always",
    "--save",
    "",
];

fn program() -> OsString {
    env::var_os("MILLRACE_TEST_REDIS").unwrap_or_else(|| "redis-server".into())
}

/// Whether no test may be skipped.
pub(crate) fn is_required() -> bool {
    env::var("MILLRACE_REQUIRE_ALL").is_ok_and(|value| value == "1")
}

fn spawn(port: u16, folder: &Path, options: &[String]) -> Option<Child> {
    let program = program();
    let version = Command::new(&program).arg("--version").output();
    version.ok().filter(|version| version.status.success())?;
    // it ends with the test, however that ends: the shell's other half waits for the end of the input
    let watched = "exec 3<&0; (read _ <&3; kill -9 $$) & exec \"$@\" 3<&- </dev/null";
    Command::new("sh")
        .args(["-c", watched, "sh"])
        .arg(program)
        // a file of options must be the first
        .args(options)
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
        .arg("--dir")
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()
}
