//! Reads JSON: what cargo and our own reports say. Strict enough for those two, no more.

use std::collections::BTreeMap;

/// A JSON value. Numbers are doubles: none of ours is above 2^53.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// Any number.
    Number(f64),
    /// Text.
    Text(String),
    /// `[...]`
    List(Vec<Json>),
    /// `{...}`
    Object(BTreeMap<String, Json>),
}

impl Json {
    /// Parses a whole text.
    ///
    /// # Errors
    /// What is wrong, and at which byte.
    pub fn parse(text: &str) -> Result<Json, String> {
        let mut reader = Reader { bytes: text.as_bytes(), at: 0 };
        let value = reader.value(0)?;
        reader.space();
        if reader.at < reader.bytes.len() { Err(reader.wrong("more text after the value")) } else { Ok(value) }
    }

    /// The member at a path of names separated by dots; [`Json::Null`] where there is none.
    pub fn at(&self, path: &str) -> &Json {
        path.split('.').fold(self, |value, name| match value {
            Json::Object(members) => members.get(name).unwrap_or(&Json::Null),
            _ => &Json::Null,
        })
    }

    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        if let Json::Number(n) = self { Some(*n) } else { None }
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        if let Json::Text(t) = self { Some(t) } else { None }
    }

    /// The elements; none if it is no list.
    pub fn list(&self) -> &[Json] {
        if let Json::List(l) = self { l } else { &[] }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// Deeper nesting than anything here has; a bound for the recursion.
const MAX_DEPTH: usize = 64;

impl Reader<'_> {
    fn wrong(&self, what: &str) -> String {
        format!("not JSON: {what} at byte {}", self.at)
    }

    fn space(&mut self) {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> Result<(), String> {
        if self.bytes.get(self.at) == Some(&byte) {
            self.at += 1;
            Ok(())
        } else {
            Err(self.wrong(&format!("'{}' expected", char::from(byte))))
        }
    }

    /// Takes `byte` if it comes next.
    fn took(&mut self, byte: u8) -> bool {
        self.space();
        self.take(byte).is_ok()
    }

    fn word(&mut self, word: &str, value: Json) -> Result<Json, String> {
        if self.bytes[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(value)
        } else {
            Err(self.wrong("unknown word"))
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json, String> {
        if depth > MAX_DEPTH {
            return Err(self.wrong("too deep"));
        }
        self.space();
        match self.bytes.get(self.at) {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.elements(depth),
            Some(b'"') => self.string().map(Json::Text),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(self.wrong("a value expected")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, String> {
        self.take(b'{')?;
        let mut members = BTreeMap::new();
        if self.took(b'}') {
            return Ok(Json::Object(members));
        }
        loop {
            self.space();
            let name = self.string()?;
            self.space();
            self.take(b':')?;
            members.insert(name, self.value(depth + 1)?);
            if self.took(b'}') {
                return Ok(Json::Object(members));
            }
            self.take(b',')?;
        }
    }

    fn elements(&mut self, depth: usize) -> Result<Json, String> {
        self.take(b'[')?;
        let mut list = Vec::new();
        if self.took(b']') {
            return Ok(Json::List(list));
        }
        loop {
            list.push(self.value(depth + 1)?);
            if self.took(b']') {
                return Ok(Json::List(list));
            }
            self.take(b',')?;
        }
    }

    fn number(&mut self) -> Result<Json, String> {
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(|b| matches!(b, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')) {
            self.at += 1;
        }
        let text = std::str::from_utf8(&self.bytes[start..self.at]).unwrap_or_default();
        text.parse().map(Json::Number).map_err(|_| self.wrong("no number"))
    }

    fn string(&mut self) -> Result<String, String> {
        self.take(b'"')?;
        let mut out = Vec::new();
        loop {
            let Some(&byte) = self.bytes.get(self.at) else { return Err(self.wrong("text without an end")) };
            self.at += 1;
            match byte {
                b'"' => return String::from_utf8(out).map_err(|_| self.wrong("text is not UTF-8")),
                b'\\' => {
                    let c = self.escape()?;
                    out.extend(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
                _ => out.push(byte),
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        let Some(&byte) = self.bytes.get(self.at) else { return Err(self.wrong("text without an end")) };
        self.at += 1;
        Ok(match byte {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => {
                let hex = self.bytes.get(self.at..self.at + 4).and_then(|h| std::str::from_utf8(h).ok());
                let code = hex.and_then(|h| u32::from_str_radix(h, 16).ok());
                let Some(code) = code else { return Err(self.wrong("four hexadecimal digits expected")) };
                self.at += 4;
                // Halves of surrogate pairs: nothing that we read is written so.
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            b'"' | b'\\' | b'/' => char::from(byte),
            _ => return Err(self.wrong("unknown escape")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read() {
        let v = Json::parse(r#" {"a": [1, -2.5e3, "x\n\u00e9\"", true, null], "b": {"c": {}}, "d": []} "#).unwrap();
        let list = v.at("a").list();
        assert_eq!(list[1].number(), Some(-2500.0));
        assert_eq!(list[2].text(), Some("x\né\""));
        assert_eq!(list[3..], [Json::Bool(true), Json::Null]);
        assert_eq!(*v.at("b.c"), Json::Object(BTreeMap::new()));
        assert_eq!(*v.at("b.x.y"), Json::Null);
        assert_eq!(v.at("d").list(), []);
    }

    #[test]
    fn what_is_not_json_is_refused() {
        for text in ["", "{", "[1,]", "{\"a\" 1}", "\"a", "tru", "1 2", "\"\\q\"", "\"\\u12\"", "--1", "[1 2]"] {
            assert!(Json::parse(text).is_err(), "{text}");
        }
        assert!(Json::parse(&"[".repeat(100_000)).is_err());
    }
}
