use crate::depth;

/// Walks over a text to find where it stops being JSON.
pub(super) struct Scanner<'a> {
    rest: &'a [u8],
}

const END: &str = "unexpected end of JSON input";

type Step = Result<(), String>;

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { rest: text }
    }

    /// The syntax error in the text. Returns `None` if the text is JSON.
    pub(super) fn syntax_error(mut self) -> Option<String> {
        let whole = self.whole();
        whole.err()
    }

    /// Open objects and arrays are on a stack of their own: a text may be nested deeper than the call stack allows.
    fn whole(&mut self) -> Step {
        let mut open: Vec<u8> = Vec::new();
        'value: loop {
            self.space();
            match self.next()? {
                open_bracket @ (b'{' | b'[') if open.len() == depth::LIMIT => {
                    return wrong(open_bracket, "exceeded max depth");
                }
                b'{' => {
                    self.space();
                    if self.peek() == Some(b'}') {
                        self.skip();
                    } else {
                        self.key()?;
                        open.push(b'}');
                        continue 'value;
                    }
                }
                b'[' => {
                    self.space();
                    if self.peek() == Some(b']') {
                        self.skip();
                    } else {
                        open.push(b']');
                        continue 'value;
                    }
                }
                b'"' => self.text()?,
                b't' => self.literal("true")?,
                b'f' => self.literal("false")?,
                b'n' => self.literal("null")?,
                first @ (b'-' | b'0'..=b'9') => self.number(first)?,
                other => return wrong(other, "looking for beginning of value"),
            }
            loop {
                self.space();
                let Some(close) = open.last().copied() else {
                    return match self.peek() {
                        Some(other) => wrong(other, "after top-level value"),
                        None => Ok(()),
                    };
                };
                match self.next()? {
                    b',' => {
                        if close == b'}' {
                            self.space();
                            self.key()?;
                        }
                        continue 'value;
                    }
                    found if found == close => {
                        open.pop();
                    }
                    other if close == b'}' => return wrong(other, "after object key:value pair"),
                    other => return wrong(other, "after array element"),
                }
            }
        }
    }

    fn key(&mut self) -> Step {
        match self.next()? {
            b'"' => self.text()?,
            other => return wrong(other, "looking for beginning of object key string"),
        }
        self.space();
        match self.next()? {
            b':' => Ok(()),
            other => wrong(other, "after object key"),
        }
    }

    fn text(&mut self) -> Step {
        loop {
            match self.next()? {
                b'"' => return Ok(()),
                b'\\' => match self.next()? {
                    b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => {}
                    b'u' => {
                        for _ in 0..4 {
                            let digit = self.next()?;
                            if !digit.is_ascii_hexdigit() {
                                return wrong(digit, "in \\u hexadecimal character escape");
                            }
                        }
                    }
                    other => return wrong(other, "in string escape code"),
                },
                control @ 0..0x20 => return wrong(control, "in string literal"),
                _ => {}
            }
        }
    }

    fn literal(&mut self, word: &str) -> Step {
        for expected in word.bytes().skip(1) {
            let found = self.next()?;
            if found != expected {
                let place = format!("in literal {word} (expecting {})", quoted(expected));
                return wrong(found, &place);
            }
        }
        Ok(())
    }

    fn number(&mut self, first: u8) -> Step {
        let first = if first == b'-' {
            self.digit("in numeric literal")?
        } else {
            first
        };
        if first != b'0' {
            self.digits();
        }
        if self.peek() == Some(b'.') {
            self.skip();
            self.digit("after decimal point in numeric literal")?;
            self.digits();
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.skip();
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.skip();
            }
            self.digit("in exponent of numeric literal")?;
            self.digits();
        }
        Ok(())
    }

    fn digit(&mut self, place: &str) -> Result<u8, String> {
        match self.next()? {
            digit @ b'0'..=b'9' => Ok(digit),
            other => wrong(other, place).map(|()| 0),
        }
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.skip();
        }
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.skip();
        }
    }

    fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    fn skip(&mut self) {
        self.rest = self.rest.get(1..).unwrap_or_default();
    }

    fn next(&mut self) -> Result<u8, String> {
        let next = self.peek().ok_or(END)?;
        self.skip();
        Ok(next)
    }
}

fn wrong(byte: u8, place: &str) -> Step {
    Err(format!("invalid character {} {place}", quoted(byte)))
}

/// A byte as Go quotes a character.
fn quoted(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".into(),
        b'"' => "'\"'".into(),
        b'\\' => r"'\\'".into(),
        b'\n' => r"'\n'".into(),
        b'\r' => r"'\r'".into(),
        b'\t' => r"'\t'".into(),
        0x07 => r"'\a'".into(),
        0x08 => r"'\b'".into(),
        0x0b => r"'\v'".into(),
        0x0c => r"'\f'".into(),
        0x00..0x20 | 0x7f => format!(r"'\x{byte:02x}'"),
        0x80..=0xa0 | 0xad => format!(r"'\u{byte:04x}'"),
        _ => format!("'{}'", char::from(byte)),
    }
}
