use prometheus::{IntCounterVec, Registry};

use super::metrics;

/// What a client sends; cloning shares the series.
#[derive(Clone, Debug)]
pub struct ClientMetrics {
    requests: IntCounterVec,
}

impl ClientMetrics {
    pub(super) fn register(registry: &Registry) -> Self {
        Self {
            requests: metrics::counter(
                registry,
                "rest_client_requests_total",
                "Number of HTTP requests, partitioned by status code, method, and host.",
                &["code", "method", "host"],
            ),
        }
    }

    /// Counts one attempt to send a request to `host` (`name:port` of the API server).
    ///
    /// `code` is the answer's HTTP status, `None` when there was no answer (written `<error>`).
    pub fn request(&self, code: Option<u16>, method: &str, host: &str) {
        let mut digits = [0; 3];
        let code = match code {
            Some(code @ 100..=999) => {
                for (place, digit) in [100, 10, 1].into_iter().zip(&mut digits) {
                    *digit = b'0' + u8::try_from(code / place % 10).unwrap_or_default();
                }
                std::str::from_utf8(&digits).unwrap_or("<error>")
            }
            _ => "<error>",
        };
        self.requests
            .with_label_values(&[code, known(method), host])
            .inc();
    }
}

/// Methods are a closed set, so that no caller can make series without bound.
fn known(method: &str) -> &'static str {
    ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
        .into_iter()
        .find(|known| known.eq_ignore_ascii_case(method))
        .unwrap_or("other")
}

#[cfg(test)]
mod tests {
    use crate::metrics::Metrics;

    #[test]
    fn requests_are_counted_by_code_method_and_host() {
        let metrics = Metrics::new();
        metrics
            .client()
            .request(Some(409), "PATCH", "localhost:6443");
        metrics.client().request(None, "GET", "localhost:6443");
        let text = metrics.encode();
        for line in [
            "rest_client_requests_total{code=\"409\",host=\"localhost:6443\",method=\"PATCH\"} 1\n",
            "rest_client_requests_total{code=\"<error>\",host=\"localhost:6443\",method=\"GET\"} 1\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }
}
