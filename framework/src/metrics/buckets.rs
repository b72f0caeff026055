/// Buckets for the seconds of a reconcile: those of controller-runtime.
pub(super) fn reconcile_seconds() -> Vec<f64> {
    vec![
        0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8,
        0.9, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0,
        15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0,
    ]
}

/// Buckets for the seconds of a request: those of client-go and controller-runtime.
pub(super) fn request_seconds() -> Vec<f64> {
    vec![
        0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0,
    ]
}

/// Buckets for the bytes of a request or a response: those of client-go and controller-runtime.
pub(super) fn request_bytes() -> Vec<f64> {
    vec![
        64.0,
        256.0,
        512.0,
        1024.0,
        4096.0,
        16384.0,
        65536.0,
        262_144.0,
        1_048_576.0,
        4_194_304.0,
        16_777_216.0,
    ]
}

/// Buckets for the seconds that a client certificate was in use: ten minutes to four years.
pub(super) fn certificate_seconds() -> Vec<f64> {
    const DAY: f64 = 86_400.0;
    vec![
        600.0,
        1800.0,
        3600.0,
        14_400.0,
        DAY,
        7.0 * DAY,
        30.0 * DAY,
        90.0 * DAY,
        180.0 * DAY,
        360.0 * DAY,
        1440.0 * DAY,
    ]
}

/// Buckets for seconds in a workqueue: 10 ns to 1000 s.
///
/// Each bound is the previous one times ten, as in Go. The rounding errors that result are part of
/// the `le` strings that dashboards match (`9.999999999999999e-06`).
pub(super) fn workqueue_seconds() -> Vec<f64> {
    std::iter::successors(Some(10e-9), |bound| Some(bound * 10.0))
        .take(12)
        .collect()
}

/// Buckets for the seconds of work in an informer, 1 ms to 10 s: those of client-go.
pub(super) fn informer_seconds() -> Vec<f64> {
    vec![
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
    ]
}

/// Buckets for the seconds between a change and its effect: 0.1 ms to one minute.
pub(super) fn lag_seconds() -> Vec<f64> {
    vec![
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
        5.0, 10.0, 30.0, 60.0,
    ]
}
