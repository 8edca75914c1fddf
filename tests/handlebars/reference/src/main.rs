//! Renders templates with the crate `handlebars`, set up as our engine behaves, for comparison with it.
//!
//! Reads one JSON object a line, {"template": text, "context": value}, and writes one a line: {"text": …, "log": [[level, text], …]},
//! {"error": …} or, where the crate panics, {"panic": …}.

use std::io::{self, BufRead, Write};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;

use handlebars::Handlebars;
use serde_json::{Value, json};

static LINES: Mutex<Vec<Value>> = Mutex::new(Vec::new());

struct Recorder;

impl log::Log for Recorder {
    fn enabled(&self, metadata: &log::Metadata) -> bool {
        metadata.target().contains("log")
    }
    fn log(&self, record: &log::Record) {
        if self.enabled(record.metadata()) {
            let line = json!([record.level().to_string().to_lowercase(), record.args().to_string()]);
            LINES.lock().unwrap().push(line);
        }
    }
    fn flush(&self) {}
}

fn answer(engine: &Handlebars, request: &Value) -> Value {
    let template = request["template"].as_str().expect("a template");
    LINES.lock().unwrap().clear();
    let rendered = panic::catch_unwind(AssertUnwindSafe(|| engine.render_template(template, &request["context"])));
    match rendered {
        Ok(Ok(text)) => json!({"text": text, "log": *LINES.lock().unwrap()}),
        Ok(Err(error)) => json!({"error": error.to_string()}),
        Err(_) => json!({"panic": true}),
    }
}

fn main() -> io::Result<()> {
    log::set_logger(&Recorder).expect("the only logger");
    log::set_max_level(log::LevelFilter::Trace);
    panic::set_hook(Box::new(|_| {}));
    let mut engine = Handlebars::new();
    engine.set_strict_mode(true);
    engine.register_escape_fn(handlebars::no_escape);
    engine.register_partial("indent", "{{content}}").expect("a valid template");

    let mut output = io::BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        writeln!(output, "{}", answer(&engine, &request))?;
    }
    output.flush()
}
