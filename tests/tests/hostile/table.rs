//! Defines a test for each row.

/// Rows over both protocols, or over one: `name: http2 => row;`.
macro_rules! rows {
    () => {};
    ($name:ident => $row:expr; $($rest:tt)*) => {
        mod $name {
            use super::*;

            #[tokio::test(start_paused = true)]
            async fn http1() {
                crate::run::run(crate::server::Protocol::Http1, $row).await;
            }

            #[tokio::test(start_paused = true)]
            async fn http2() {
                crate::run::run(crate::server::Protocol::Http2, $row).await;
            }
        }
        rows!($($rest)*);
    };
    ($name:ident: http1 => $row:expr; $($rest:tt)*) => {
        #[tokio::test(start_paused = true)]
        async fn $name() {
            crate::run::run(crate::server::Protocol::Http1, $row).await;
        }
        rows!($($rest)*);
    };
    ($name:ident: http2 => $row:expr; $($rest:tt)*) => {
        #[tokio::test(start_paused = true)]
        async fn $name() {
            crate::run::run(crate::server::Protocol::Http2, $row).await;
        }
        rows!($($rest)*);
    };
}
