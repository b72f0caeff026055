use std::{
    fs,
    io::{self, Read},
    net::{IpAddr, Ipv4Addr, TcpListener},
    path::PathBuf,
    thread,
};

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::{operator::Operator, server::Address};

/// The file with the ports in the folder of the tool.
const PORTS: &str = "ports.json";
const METRICS: &str = "metrics";
const WEBHOOKS: &str = "webhooks";

/// The way from one process of an operator to the next one, which the tool `cargo pilothouse dev` leads.
///
/// While the old process works, the new one installs its definitions and says so. Then the tool stops the old one and writes a line to the standard
/// input of the new one, which begins to work. The end of standard input stops a process, also if the tool was killed.
pub(in crate::operator) struct Handover {
    /// A folder of the tool that stays the same.
    folder: PathBuf,
    /// Cancelled when this process may work.
    turn: CancellationToken,
}

impl Handover {
    /// The line that says that the definitions are installed. The tool knows it.
    pub(in crate::operator) const INSTALLED: &str = "The definitions are installed.";

    /// Listens to the tool. `cancel` is cancelled when the process has to end.
    pub(in crate::operator) fn start(
        folder: PathBuf,
        cancel: CancellationToken,
    ) -> io::Result<Self> {
        let turn = CancellationToken::new();
        let begins = turn.clone();
        // Not a task: a read of standard input cannot be cancelled. The thread ends with the process.
        let listen = move || {
            let mut input = io::stdin().lock();
            let mut byte = [0];
            while matches!(input.read(&mut byte), Ok(1)) {
                begins.cancel();
            }
            cancel.cancel();
        };
        thread::Builder::new()
            .name("handover".into())
            .spawn(listen)?;
        Ok(Self { folder, turn })
    }

    /// Waits until the process before this one has ended.
    pub(in crate::operator) async fn wait(&self) {
        self.turn.cancelled().await;
    }

    /// Lets the operator listen where the process before it listened, if it may choose the ports and they are free.
    pub(in crate::operator) fn with_same_ports(&self, mut operator: Operator) -> Operator {
        let file = self.folder.join(PORTS);
        let known = fs::read(&file).unwrap_or_default();
        let mut ports: Map<String, Value> = serde_json::from_slice(&known).unwrap_or_default();
        operator.metrics_address = operator
            .metrics_address
            .map(|address| same_port(address, METRICS, &mut ports));
        if operator.has_webhooks() {
            let serving = &mut operator.webhook_serving;
            serving.address = same_port(serving.address, WEBHOOKS, &mut ports);
        }
        // Without the file the ports change with the next process, and everything else works.
        let _ = fs::write(file, Value::Object(ports).to_string());
        operator
    }
}

/// The address with the port that is known by this name, or with a free one, which is known from now on. An address with a port stays as it is.
fn same_port(address: Address, name: &str, ports: &mut Map<String, Value>) -> Address {
    if address.port != 0 {
        return address;
    }
    let known = ports.get(name).and_then(Value::as_u64);
    let known = known.and_then(|port| u16::try_from(port).ok());
    let port = known
        .and_then(|port| free(address, port))
        .or_else(|| free(address, 0));
    if let Some(port) = port {
        ports.insert(name.into(), port.into());
    }
    Address {
        port: port.unwrap_or_default(),
        ..address
    }
}

/// The port, or any one for 0, if it is free.
fn free(address: Address, port: u16) -> Option<u16> {
    let host = address.host.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    let listener = TcpListener::bind((host, port)).ok()?;
    Some(listener.local_addr().ok()?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_process_has_the_same_ports_unless_they_are_taken() {
        let folder = tempfile::tempdir().unwrap();
        let handover = Handover {
            folder: folder.path().to_owned(),
            turn: CancellationToken::new(),
        };
        let port = |address| {
            let operator = Operator::new("website").metrics_address(address);
            let operator = handover.with_same_ports(operator);
            operator.metrics_address.unwrap().port
        };
        let first = port(Address::loopback(0));
        assert_ne!(first, 0);
        assert_eq!(port(Address::loopback(0)), first);
        // A port that the user has chosen stays, and is not remembered.
        assert_eq!(port(Address::loopback(1)), 1);
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, first)).unwrap();
        let second = port(Address::loopback(0));
        assert_ne!(second, first);
        drop(taken);
        assert_eq!(port(Address::loopback(0)), second);
        fs::write(folder.path().join(PORTS), "{\"metrics\": 70000").unwrap();
        assert_ne!(port(Address::loopback(0)), 0);
    }
}
