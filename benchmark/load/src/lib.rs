//! Millrace's load generator: one thread, one epoll loop, prebuilt masked frames, and every reply
//! verified by sequence number. It measures the CPU time of a server's process tree. It never ends
//! or configures a server, and assumes nothing about it except the handlers in `../README.md`.
#![deny(unsafe_code)]

pub mod args;
mod conn;
pub mod dialect;
pub mod failure;
pub mod frame;
mod handler;
pub mod handshake;
pub mod http;
mod inflating;
pub mod io;
pub mod json;
pub mod metronome;
pub mod process;
pub mod report;
pub mod ring;
pub mod run;
pub mod scenario;
pub mod stamp;
pub mod sys;
pub mod tls;
pub mod window;
