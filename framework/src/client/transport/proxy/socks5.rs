use std::net::IpAddr;

use secrecy::ExposeSecret;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::client::{ProxyProblem, config::ProxyUser, transport::Io};

const VERSION: u8 = 5;
const WITHOUT_USER: u8 = 0;
const USER_AND_PASSWORD: u8 = 2;
const NO_METHOD_FITS: u8 = 0xff;
/// The version of the exchange of user name and password (RFC 1929).
const USER_VERSION: u8 = 1;
const CONNECT: u8 = 1;
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

const NO_SOCKS5: ProxyProblem = ProxyProblem::Protocol { expected: "SOCKS5" };

/// Asks the SOCKS5 proxy on `stream` for a tunnel to `host`, which is without brackets (RFC 1928). The proxy looks up
/// names.
pub(super) async fn tunnel(
    stream: &mut Box<dyn Io>,
    host: &str,
    port: u16,
    user: Option<&ProxyUser>,
) -> Result<(), ProxyProblem> {
    let hello: &[u8] = match user {
        Some(_) => &[VERSION, 2, WITHOUT_USER, USER_AND_PASSWORD],
        None => &[VERSION, 1, WITHOUT_USER],
    };
    send(stream, hello).await?;
    let [VERSION, method] = receive(stream).await? else {
        return Err(NO_SOCKS5);
    };
    match (method, user) {
        (WITHOUT_USER, _) => {}
        (USER_AND_PASSWORD, Some(user)) => introduce(stream, user).await?,
        (NO_METHOD_FITS, _) => {
            return Err(ProxyProblem::Credentials {
                given: user.is_some(),
            });
        }
        _ => return Err(NO_SOCKS5),
    }

    let mut request = vec![VERSION, CONNECT, 0];
    match host.parse() {
        Ok(IpAddr::V4(address)) => {
            request.push(IPV4);
            request.extend(address.octets());
        }
        Ok(IpAddr::V6(address)) => {
            request.push(IPV6);
            request.extend(address.octets());
        }
        Err(_) => {
            request.push(NAME);
            short(&mut request, host, "the server's name")?;
        }
    }
    request.extend(port.to_be_bytes());
    send(stream, &request).await?;

    let [VERSION, reply, _, kind] = receive(stream).await? else {
        return Err(NO_SOCKS5);
    };
    if reply != 0 {
        return Err(of_reply(reply));
    }
    // The address from which the proxy connects is of no use, but must be read.
    let address = match kind {
        IPV4 => 4,
        IPV6 => 16,
        NAME => {
            let [length] = receive(stream).await?;
            usize::from(length)
        }
        _ => return Err(NO_SOCKS5),
    };
    let mut rest = vec![0; address + 2];
    let read = stream.read_exact(&mut rest).await;
    read.map_err(ProxyProblem::of_io).map(drop)
}

/// Sends user name and password (RFC 1929).
async fn introduce(stream: &mut Box<dyn Io>, user: &ProxyUser) -> Result<(), ProxyProblem> {
    let mut request = vec![USER_VERSION];
    short(&mut request, user.name.expose_secret(), "the user's name")?;
    short(&mut request, user.password.expose_secret(), "the password")?;
    send(stream, &request).await?;
    match receive(stream).await? {
        [USER_VERSION, 0] => Ok(()),
        [USER_VERSION, _] => Err(ProxyProblem::Credentials { given: true }),
        _ => Err(NO_SOCKS5),
    }
}

/// Appends the length of `text`, then `text`. Messages call it `what`.
fn short(request: &mut Vec<u8>, text: &str, what: &str) -> Result<(), ProxyProblem> {
    let length = u8::try_from(text.len()).map_err(|_| ProxyProblem::Refused {
        response: format!("{what} is longer than the 255 bytes that SOCKS5 allows"),
    })?;
    request.push(length);
    request.extend(text.as_bytes());
    Ok(())
}

async fn send(stream: &mut Box<dyn Io>, bytes: &[u8]) -> Result<(), ProxyProblem> {
    stream.write_all(bytes).await.map_err(ProxyProblem::of_io)
}

async fn receive<const N: usize>(stream: &mut Box<dyn Io>) -> Result<[u8; N], ProxyProblem> {
    let mut bytes = [0; N];
    let read = stream.read_exact(&mut bytes).await;
    read.map_err(ProxyProblem::of_io)?;
    Ok(bytes)
}

fn of_reply(reply: u8) -> ProxyProblem {
    let unreachable = |response: &str| ProxyProblem::Unreachable {
        response: response.to_owned(),
    };
    match reply {
        1 => unreachable("general failure"),
        2 => ProxyProblem::Forbidden {
            response: "not allowed by its rules".to_owned(),
        },
        3 => unreachable("network unreachable"),
        4 => unreachable("host unreachable"),
        5 => unreachable("connection refused"),
        6 => unreachable("too far away"),
        7 => ProxyProblem::Refused {
            response: "it does not know CONNECT".to_owned(),
        },
        8 => ProxyProblem::Refused {
            response: "it does not know this kind of address".to_owned(),
        },
        other => ProxyProblem::Refused {
            response: format!("reply {other}"),
        },
    }
}
