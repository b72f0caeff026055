use super::RecordedRequest;

/// A recorded request in one allocation: thousands are kept. Of a long text only the beginning is kept.
pub(super) struct Packed {
    /// The texts, one after the other.
    texts: Box<str>,
    /// Where each of them ends.
    ends: [u32; TEXTS],
    status: u16,
}

const TEXTS: usize = 13;
/// The most bytes of each text.
const LONGEST: usize = 4096;

impl Packed {
    pub(super) fn new(request: &RecordedRequest) -> Self {
        let texts: [&str; TEXTS] = [
            &request.verb,
            &request.method,
            &request.path,
            &request.query,
            &request.group,
            &request.version,
            &request.resource,
            &request.subresource,
            &request.namespace,
            &request.name,
            &request.content_type,
            &request.user_agent,
            &request.user,
        ];
        let texts = texts.map(|text| &text[..text.floor_char_boundary(LONGEST)]);
        let mut end = 0;
        Self {
            ends: texts.map(|text| {
                end += text.len() as u32;
                end
            }),
            texts: texts.concat().into(),
            status: request.status,
        }
    }

    /// The memory that it takes.
    pub(super) fn size(&self) -> usize {
        size_of::<Self>() + self.texts.len()
    }

    pub(super) fn unpack(&self) -> RecordedRequest {
        let (mut begin, mut ends) = (0, self.ends.iter());
        let mut next = || {
            let end = ends.next().map_or(begin, |end| *end as usize);
            let text = self.texts.get(begin..end).unwrap_or_default();
            begin = end;
            text.to_owned()
        };
        // The order is that of `new`.
        RecordedRequest {
            verb: next(),
            method: next(),
            path: next(),
            query: next(),
            group: next(),
            version: next(),
            resource: next(),
            subresource: next(),
            namespace: next(),
            name: next(),
            content_type: next(),
            user_agent: next(),
            user: next(),
            status: self.status,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_request_is_unpacked_as_it_was() {
        let texts = "verb method path query group version resource subresource namespace name type agent user";
        let mut texts = texts.split(' ').map(String::from);
        let mut next = || texts.next().unwrap();
        let request = RecordedRequest {
            verb: next(),
            method: next(),
            path: next(),
            query: String::new(),
            group: String::new(),
            version: next(),
            resource: next(),
            subresource: next(),
            namespace: next(),
            name: "ä".into(),
            content_type: next(),
            user_agent: next(),
            user: next(),
            status: 201,
        };
        assert_eq!(Packed::new(&request).unpack(), request);
    }

    #[test]
    fn only_the_beginning_of_a_long_text_is_kept() {
        let request = RecordedRequest {
            user_agent: "a".repeat(LONGEST),
            // The limit is within a letter.
            query: format!("a{}", "ä".repeat(LONGEST)),
            user: "ann".into(),
            ..RecordedRequest::default()
        };
        let kept = Packed::new(&request).unpack();
        assert_eq!(kept.user_agent, request.user_agent);
        assert_eq!(kept.query, format!("a{}", "ä".repeat(LONGEST / 2 - 1)));
        assert_eq!(kept.user, "ann");
    }
}
