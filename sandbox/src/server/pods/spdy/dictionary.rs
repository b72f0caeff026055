/// The words in the dictionary of the specification, each with its length before it.
const WORDS: &[&str] = &[
    "options",
    "head",
    "post",
    "put",
    "delete",
    "trace",
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "accept-ranges",
    "age",
    "allow",
    "authorization",
    "cache-control",
    "connection",
    "content-base",
    "content-encoding",
    "content-language",
    "content-length",
    "content-location",
    "content-md5",
    "content-range",
    "content-type",
    "date",
    "etag",
    "expect",
    "expires",
    "from",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "last-modified",
    "location",
    "max-forwards",
    "pragma",
    "proxy-authenticate",
    "proxy-authorization",
    "range",
    "referer",
    "retry-after",
    "server",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "vary",
    "via",
    "warning",
    "www-authenticate",
    "method",
    "get",
    "status",
    "200 OK",
    "version",
    "HTTP/1.1",
    "url",
    "public",
    "set-cookie",
    "keep-alive",
    "origin",
];

/// What follows the words.
const TEXT: &str = concat!(
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505",
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Una",
    "uthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service",
    " UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, ",
    "Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,applicat",
    "ion/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf",
    "-8charset=iso-8859-1,utf-,*,enq=0.",
);

/// The texts with which both sides of a connection begin to compress their headers.
pub(super) fn dictionary() -> Vec<u8> {
    let mut dictionary = Vec::new();
    for word in WORDS {
        let length = u32::try_from(word.len()).unwrap_or_default();
        dictionary.extend(length.to_be_bytes());
        dictionary.extend(word.as_bytes());
    }
    dictionary.extend(TEXT.as_bytes());
    dictionary
}

#[cfg(test)]
mod tests {
    /// The checksum that a peer sends to name the dictionary of SPDY/3.
    #[test]
    fn the_dictionary_is_that_of_the_specification() {
        let (mut low, mut high) = (1_u32, 0_u32);
        for byte in super::dictionary() {
            low = (low + u32::from(byte)) % 65521;
            high = (high + low) % 65521;
        }
        assert_eq!((high << 16) | low, 0xe3c6_a7c2);
    }
}
