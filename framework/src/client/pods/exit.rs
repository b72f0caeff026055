use std::fmt;

use crate::{
    client::{Error, ErrorKind},
    resource::{Status, StatusDetails},
};

/// How a process in a container ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    code: i32,
}

impl Exit {
    /// The exit code. For a process that a signal ended, 128 plus the number of the signal.
    pub fn code(self) -> i32 {
        self.code
    }

    /// Whether the code is 0.
    pub fn is_success(self) -> bool {
        self.code == 0
    }

    /// Reads the message that a server sends on the error channel when the process has ended. Fails if the process
    /// never ran.
    pub(super) fn read(verb: &'static str, target: &str, status: &[u8]) -> Result<Self, Error> {
        let undecodable = |reason: &str| {
            Error::new(
                verb,
                target.to_owned(),
                ErrorKind::Decode {
                    reason: reason.to_owned(),
                },
            )
        };
        let status: Status = serde_json::from_slice(status)
            .map_err(|_| undecodable("the server's report of the end is not a `Status`"))?;
        if status.status.as_deref() == Some("Success") {
            return Ok(Self { code: 0 });
        }
        if status.reason != "NonZeroExitCode" {
            return Err(Error::api(verb, target, status));
        }
        let causes = status
            .details
            .iter()
            .flat_map(|StatusDetails { causes, .. }| causes);
        let mut codes = causes.filter(|cause| cause.reason == "ExitCode");
        let code = codes.next().and_then(|cause| cause.message.parse().ok());
        code.map(|code| Self { code })
            .ok_or_else(|| undecodable("the `Status` of the end names no exit code"))
    }
}

/// `exit code 3`.
impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exit code {}", self.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(status: &str) -> Result<i32, String> {
        Exit::read("exec", "Pod default/web-0", status.as_bytes())
            .map(Exit::code)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_exit_code_is_in_the_status_and_anything_else_is_an_error() {
        assert_eq!(read(r#"{"status":"Success"}"#), Ok(0));
        let three = r#"{"status":"Failure","reason":"NonZeroExitCode","message":"command terminated with non-zero exit code: exit status 3","details":{"causes":[{"reason":"ExitCode","message":"3"}]}}"#;
        assert_eq!(read(three), Ok(3));
        let table = [
            (
                r#"{"status":"Failure","reason":"InternalError","code":500,"message":"Internal error occurred: no shell"}"#,
                "exec Pod default/web-0: Internal error occurred: no shell",
            ),
            (
                r#"{"status":"Failure","reason":"NonZeroExitCode","message":"?"}"#,
                "exec Pod default/web-0: the answer cannot be decoded: the `Status` of the end names no exit code",
            ),
            (
                "bang",
                "exec Pod default/web-0: the answer cannot be decoded: the server's report of the end is not a `Status`",
            ),
        ];
        for (status, expected) in table {
            assert_eq!(read(status), Err(expected.to_owned()));
        }
    }
}
