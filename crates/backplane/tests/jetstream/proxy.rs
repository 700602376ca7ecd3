//! A proxy between nodes and their server, whose connections a test can cut.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// See the module.
pub(crate) struct Proxy {
    port: u16,
    open: Arc<Mutex<Vec<TcpStream>>>,
    is_closed: Arc<AtomicBool>,
}

impl Proxy {
    /// Forwards to a server of this machine.
    pub(crate) fn start(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let open = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&open);
        let is_closed = Arc::new(AtomicBool::new(false));
        let refuses = Arc::clone(&is_closed);
        // it ends with the process
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if refuses.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(upstream) = TcpStream::connect(("127.0.0.1", server)) else {
                    continue;
                };
                let ends = [&client, &upstream].map(|end| end.try_clone().expect("it is open"));
                all.lock().expect("no thread panicked").extend(ends);
                let back = [&upstream, &client].map(|end| end.try_clone().expect("it is open"));
                thread::spawn(move || copy(client, upstream));
                thread::spawn(move || {
                    let [upstream, client] = back;
                    copy(upstream, client);
                });
            }
        });
        Self {
            port,
            open,
            is_closed,
        }
    }

    /// Cuts the connections of all nodes.
    pub(crate) fn cut(&self) {
        for end in self.open.lock().expect("no thread panicked").drain(..) {
            let _closed_already = end.shutdown(Shutdown::Both);
        }
    }

    /// Cuts the connections, and accepts no others or again.
    pub(crate) fn close(&self, is_closed: bool) {
        self.is_closed.store(is_closed, Ordering::SeqCst);
        self.cut();
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

/// Copies until one end is closed, and closes both.
fn copy(mut from: TcpStream, mut to: TcpStream) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _closed_already = from.shutdown(Shutdown::Both);
    let _closed_already = to.shutdown(Shutdown::Both);
}
