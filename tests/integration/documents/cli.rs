//! Replies as redis-cli prints them on a terminal.

use redis::Value;

/// The lines that redis-cli prints for a reply.
pub fn print(command: &str, reply: &Result<Value, String>) -> Vec<String> {
    let text = match reply {
        Err(error) => format!("(error) {error}"),
        // Its text is printed as it is.
        Ok(value) if command.to_uppercase().starts_with("INFO") => text(value),
        Ok(value) => shown(value, 0),
    };
    text.lines().map(|line| line.trim_end().to_owned()).collect()
}

fn text(value: &Value) -> String {
    redis::from_redis_value(value.clone()).expect("a text")
}

/// A value on lines of its own; all but the first are indented.
fn shown(value: &Value, indent: usize) -> String {
    match value {
        Value::Nil => "(nil)".into(),
        Value::Int(integer) => format!("(integer) {integer}"),
        Value::Okay => "OK".into(),
        Value::SimpleString(text) => text.clone(),
        Value::BulkString(bytes) => quoted(bytes),
        Value::Array(items) if items.is_empty() => "(empty array)".into(),
        Value::Map(pairs) if pairs.is_empty() => "(empty hash)".into(),
        Value::Array(items) => numbered(items.len(), ')', indent, |index, indent| shown(&items[index], indent)),
        Value::Map(pairs) => numbered(pairs.len(), '#', indent, |index, indent| {
            let (key, value) = &pairs[index];
            format!("{} => {}", shown(key, indent), shown(value, indent))
        }),
        other => panic!("redis-cli's way to print {other:?} is not known here"),
    }
}

fn numbered(count: usize, sign: char, indent: usize, item: impl Fn(usize, usize) -> String) -> String {
    let width = count.to_string().len();
    let inner = indent + width + 2;
    let lines = (0..count).map(|index| {
        let margin = if index == 0 { 0 } else { indent };
        format!("{:margin$}{:>width$}{sign} {}", "", index + 1, item(index, inner))
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn quoted(bytes: &[u8]) -> String {
    let escaped = bytes.iter().map(|byte| match byte {
        b'"' | b'\\' => format!("\\{}", char::from(*byte)),
        b'\n' => "\\n".into(),
        b'\r' => "\\r".into(),
        b'\t' => "\\t".into(),
        b'\x07' => "\\a".into(),
        b'\x08' => "\\b".into(),
        b' '..=b'~' => char::from(*byte).into(),
        other => format!("\\x{other:02x}"),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

#[test]
fn replies_are_printed_as_redis_cli_prints_them() {
    let ten = Value::Array((1..=10).map(Value::Int).collect());
    let nested =
        Value::Array(vec![Value::Int(1), Value::Array(vec![Value::Nil, Value::BulkString(b"a\"\x01".into())])]);
    assert_eq!(print("X", &Ok(ten))[8..], [" 9) (integer) 9", "10) (integer) 10"]);
    assert_eq!(print("X", &Ok(nested)), ["1) (integer) 1", "2) 1) (nil)", "   2) \"a\\\"\\x01\""]);
    assert_eq!(print("X", &Err("ERR no".into())), ["(error) ERR no"]);
}
