use super::TraceLayer;

/// There are none in this build.
pub(in crate::operator) enum Traces {}

impl Traces {
    /// Nothing is sent.
    pub(in crate::operator) fn start(_: &str) -> Result<Option<(Self, TraceLayer)>, String> {
        Ok(None)
    }

    /// Nothing is left.
    pub(in crate::operator) async fn end(self) {
        match self {}
    }
}
