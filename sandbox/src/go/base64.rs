use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The bytes of base64, in which Go accepts line ends. What is no base64 has no bytes.
pub(crate) fn base64_bytes(text: &str) -> Vec<u8> {
    if let Ok(bytes) = STANDARD.decode(text) {
        return bytes;
    }
    let text: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    STANDARD.decode(text).unwrap_or_default()
}
