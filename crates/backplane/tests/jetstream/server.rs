//! A NATS server of the tests' own, which they can stop, start again and manipulate. Owns its process and its folder.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use millrace_backplane::{
    BackplaneFull, Bounds, Config, Credentials, KeptChannels, Protocol, Server as Address,
};

use crate::node::MANY;
use crate::ports::free_port;
use crate::proxy::Proxy;

/// Only bounds a hang: a busy machine may not schedule a thread for seconds.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// See the module.
pub(crate) struct Server {
    port: u16,
    folder: PathBuf,
    child: Child,
    proxy: Proxy,
}

impl Server {
    /// Starts a server that keeps its data over restarts; `None` if there is no program for it.
    pub(crate) fn start() -> Option<Self> {
        Self::with("jetstream {}")
    }

    /// Starts a server with these lines in its configuration.
    pub(crate) fn with(lines: &str) -> Option<Self> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let port = free_port();
            let name = format!("millrace-jetstream-{}-{port}", std::process::id());
            let folder = env::temp_dir().join(name);
            fs::create_dir_all(&folder).expect("a folder can be made");
            let text = format!("max_payload: 8MB\n{lines}\n");
            fs::write(folder.join("nats.conf"), text).expect("the folder can be written to");
            let Some(mut child) = spawn(port, &folder) else {
                let is_required = env::var("MILLRACE_REQUIRE_ALL").is_ok_and(|value| value == "1");
                assert!(
                    !is_required,
                    "nats-server is missing: sudo apt-get install nats-server"
                );
                let _stays_in_the_temporary_folder = fs::remove_dir_all(&folder);
                return None;
            };
            if is_ready(&mut child, port) {
                return Some(Self {
                    port,
                    folder,
                    child,
                    // not before, because it could take the server's port
                    proxy: Proxy::start(port),
                });
            }
            // another program has taken the port
            let _stays_in_the_temporary_folder = fs::remove_dir_all(&folder);
            assert!(Instant::now() < deadline, "nats-server starts");
        }
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
            self.child = spawn(self.port, &self.folder).expect("there was a program before");
            if is_ready(&mut self.child, self.port) {
                return;
            }
            assert!(Instant::now() < deadline, "nats-server starts again");
            self.stop();
        }
    }

    /// A copy of its data, to be made and restored while it does not run.
    pub(crate) fn copy(&self) -> PathBuf {
        let copy = self.folder.join("copy");
        let _is_the_first = fs::remove_dir_all(&copy);
        copy_folder(&self.folder.join("jetstream"), &copy);
        copy
    }

    /// Removes the files of all streams while it runs.
    pub(crate) fn lose_files(&self) {
        let data = self.folder.join("jetstream/$G/streams");
        fs::remove_dir_all(data).expect("there are streams");
    }

    /// Whether what it accepts can be read again, after its files were removed.
    pub(crate) fn keeps_records(&self) -> bool {
        let subject = self.subject('h', "any");
        self.publish(&subject, b"of another program");
        let newest = format!("{{\"last_by_subj\":\"{subject}\"}}");
        let get = format!("$JS.API.STREAM.MSG.GET.{}", self.stream());
        self.ask(&get, &newest).contains("\"seq\":")
    }

    /// Gives it the data of a copy.
    pub(crate) fn restore(&self, copy: &Path) {
        let data = self.folder.join("jetstream");
        fs::remove_dir_all(&data).expect("there is data");
        copy_folder(copy, &data);
    }

    /// Lets it do nothing, or go on.
    pub(crate) fn suspend(&self, is_suspended: bool) {
        let signal = if is_suspended { "-STOP" } else { "-CONT" };
        let id = self.child.id().to_string();
        let done = Command::new("kill").args([signal, &id]).status();
        assert!(done.expect("there is kill").success());
        let deadline = Instant::now() + TIMEOUT;
        while is_suspended && !self.is_suspended() {
            assert!(Instant::now() < deadline, "nats-server is suspended");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Whether none of its threads does anything any more, as far as the system tells.
    fn is_suspended(&self) -> bool {
        let threads = fs::read_dir(format!("/proc/{}/task", self.child.id()));
        let stopped = |thread: fs::DirEntry| {
            let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            stat.split(") ")
                .nth(1)
                .is_some_and(|rest| rest.starts_with('T'))
        };
        threads.is_ok_and(|mut threads| threads.all(|thread| thread.is_ok_and(stopped)))
    }

    /// Cuts the connections of all nodes.
    pub(crate) fn cut(&self) {
        self.proxy.cut();
    }

    /// A connection of another program.
    fn connect(&self) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the server runs");
        stream.set_read_timeout(Some(TIMEOUT)).expect("it is open");
        let hello = "CONNECT {\"verbose\":false,\"user\":\"op\",\"pass\":\"op\",\"headers\":true}\r\nSUB answers 1\r\n";
        stream.write_all(hello.as_bytes()).expect("it is open");
        BufReader::new(stream)
    }

    /// What another program publishes. Returns when the server has taken it.
    pub(crate) fn publish(&self, subject: &str, body: &[u8]) {
        let mut connection = self.connect();
        let line = format!("PUB {subject} {}\r\n", body.len());
        let all = [line.as_bytes(), body, b"\r\nPING\r\n"].concat();
        connection.get_mut().write_all(&all).expect("it is open");
        let mut line = String::new();
        while line != "PONG\r\n" {
            line.clear();
            let count = connection.read_line(&mut line).expect("it answers");
            assert!(count > 0 && !line.starts_with("-ERR"), "{line}");
        }
    }

    /// The answer to a request of an operator.
    pub(crate) fn ask(&self, subject: &str, body: &str) -> String {
        let mut connection = self.connect();
        let all = format!("PUB {subject} answers {}\r\n{body}\r\n", body.len());
        let stream = connection.get_mut();
        stream.write_all(all.as_bytes()).expect("it is open");
        loop {
            let mut line = String::new();
            let count = connection.read_line(&mut line).expect("it answers");
            assert!(count > 0 && !line.starts_with("-ERR"), "{line}");
            if line.starts_with("MSG answers") {
                let length = line.split_whitespace().last().expect("it has a length");
                let mut body = vec![0; length.parse().expect("it is a number")];
                connection.read_exact(&mut body).expect("it answers");
                return String::from_utf8(body).expect("it is JSON");
            }
        }
    }

    /// The name of its only stream.
    pub(crate) fn stream(&self) -> String {
        let names = self.ask("$JS.API.STREAM.NAMES", "");
        let name = names.split('"').find(|word| word.starts_with("millrace-"));
        name.expect("there is a stream").to_owned()
    }

    /// The subject of a channel whose name is a token; `what`: h or t.
    pub(crate) fn subject(&self, what: char, channel: &str) -> String {
        let stream = self.stream();
        let hash = stream.strip_prefix("millrace-").expect("it has a hash");
        format!("app!{what}.{hash}.{channel}")
    }

    /// Its own address, which is not cut.
    pub(crate) fn address(&self) -> Address {
        Address {
            host: "127.0.0.1".to_owned(),
            port: self.port,
        }
    }

    /// The configuration of a node.
    pub(crate) fn config(&self) -> Config {
        config(self.proxy.port())
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
        protocol: Protocol::Nats,
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
        histories: vec![KeptChannels {
            pattern: (*b"*").into(),
            terms: MANY,
        }],
    }
}

/// Waits until a server answers at this port; false if it has ended.
fn is_ready(child: &mut Child, port: u16) -> bool {
    let deadline = Instant::now() + TIMEOUT;
    while !is_at(port) {
        if child.try_wait().expect("it is our child").is_some() {
            return false;
        }
        assert!(Instant::now() < deadline, "nats-server answers");
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

/// Whether the server at this port is the one that was started there: the proxy of another test may have taken the port, and
/// would lead to another server.
fn is_at(port: u16) -> bool {
    let Ok(stream) = TcpStream::connect(("127.0.0.1", port)) else {
        return false;
    };
    let mut info = String::new();
    stream
        .set_read_timeout(Some(Duration::from_secs(1)))
        .is_ok_and(|()| BufReader::new(stream).read_line(&mut info).is_ok())
        && info.contains(&format!("\"port\":{port},"))
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder can be made");
    for entry in fs::read_dir(from).expect("there is a folder") {
        let entry = entry.expect("it can be read");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy_folder(&from, &to);
        } else {
            fs::copy(from, to).expect("a file can be copied");
        }
    }
}

fn spawn(port: u16, folder: &Path) -> Option<Child> {
    let program = env::var_os("MILLRACE_TEST_NATS").unwrap_or_else(|| "nats-server".into());
    let version = Command::new(&program).arg("--version").output();
    version.ok().filter(|version| version.status.success())?;
    // it ends with the test, however that ends: the shell's other half waits for the end of the input
    let watched = "exec 3<&0; (read _ <&3; kill -9 $$) & exec \"$@\" 3<&- </dev/null";
    Command::new("sh")
        .args(["-c", watched, "sh"])
        .arg(program)
        .args(["-a", "127.0.0.1", "-p", &port.to_string()])
        .arg("-c")
        .arg(folder.join("nats.conf"))
        .arg("-sd")
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()
}
