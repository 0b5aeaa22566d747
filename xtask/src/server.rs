//! A small HTTP server for the pages of `www/`, with the built package mounted beside them.

use crate::command::{Failure, Outcome};
use crate::project;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

/// A request's head and body are refused beyond these, in bytes.
const LONGEST_HEAD: u64 = 64 << 10;
const LONGEST_BODY: u64 = 64 << 20;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ReportKind {
    Log,
    Result,
}

/// What a page has sent.
pub struct Report {
    pub kind: ReportKind,
    pub body: String,
}

/// A server that runs until the process ends.
pub struct Server {
    /// Where its pages are, with a slash at the end.
    pub url: String,
}

struct Site {
    /// Path prefix, from slash to slash.
    base: String,
    pages: PathBuf,
    /// Paths below the base, with a slash at the end, and the folders that they are.
    mounts: Vec<(&'static str, PathBuf)>,
}

impl Server {
    /// Serves on a port, or on a free one when it is 0. What pages report goes to `reports`.
    pub fn start(host: &str, port: u16, base: &str, reports: Option<Sender<Report>>) -> Outcome<Self> {
        let refused = |error: io::Error| Failure(format!("cannot serve on {host}:{port}: {error}"));
        let listener = TcpListener::bind((host, port)).map_err(refused)?;
        let address: SocketAddr = listener.local_addr().map_err(refused)?;
        let base = match base.trim_matches('/') {
            "" => "/".to_owned(),
            inner => format!("/{inner}/"),
        };
        let url = format!("http://{address}{base}");
        let pages = project::root().join("www");
        let site = Arc::new(Site { base, pages, mounts: project::mounts() });
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (site, reports) = (Arc::clone(&site), reports.clone());
                // A browser may close a connection half way.
                thread::spawn(move || drop(answer(&connection, &site, reports.as_ref())));
            }
        });
        Ok(Self { url })
    }
}

fn answer(connection: &TcpStream, site: &Site, reports: Option<&Sender<Report>>) -> io::Result<()> {
    connection.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut reader = BufReader::new(connection);
    let (mut request, mut length) = (String::new(), 0u64);
    let mut head = (&mut reader).take(LONGEST_HEAD);
    head.read_line(&mut request)?;
    loop {
        let mut header = String::new();
        if head.read_line(&mut header)? == 0 || header.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = header.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut words = request.split_whitespace();
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let respond = |status: &str, header: &str, body: &[u8]| respond(connection, status, header, body, method != "HEAD");
    let plain = "Content-Type: text/plain; charset=utf-8";
    match method {
        "GET" | "HEAD" => match site.find(path) {
            Found::File(file) => match std::fs::read(&file) {
                Ok(body) => respond("200 OK", &format!("Content-Type: {}", media_type(&file)), &body),
                Err(_) => respond("404 Not Found", plain, b"not found\n"),
            },
            Found::Folder => respond("301 Moved Permanently", &format!("Location: {path}/"), b""),
            Found::Nothing => respond("404 Not Found", plain, b"not found\n"),
        },
        "POST" if length > LONGEST_BODY => respond("413 Content Too Large", plain, b"too large\n"),
        "POST" => {
            let kind = match path.strip_prefix(&site.base) {
                Some("log") => ReportKind::Log,
                Some("result") => ReportKind::Result,
                _ => return respond("404 Not Found", plain, b"not found\n"),
            };
            let mut body = Vec::new();
            reader.take(length).read_to_end(&mut body)?;
            respond("204 No Content", plain, b"")?;
            if let Some(reports) = reports {
                // The receiver is gone once the first result has ended the run.
                let _ = reports.send(Report { kind, body: String::from_utf8_lossy(&body).into_owned() });
            }
            Ok(())
        }
        _ => respond("405 Method Not Allowed", "Allow: GET, HEAD, POST", b""),
    }
}

/// Pages are cross-origin isolated, so that threads can share memory.
const ISOLATION: &str = "Cross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Embedder-Policy: require-corp\r\n\
                         Cross-Origin-Resource-Policy: cross-origin";

fn respond(mut connection: &TcpStream, status: &str, header: &str, body: &[u8], with_body: bool) -> io::Result<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\n{header}\r\n{ISOLATION}\r\nContent-Length: {length}\r\nCache-Control: no-store\r\n\
         Connection: close\r\n\r\n"
    );
    connection.write_all(head.as_bytes())?;
    if with_body {
        connection.write_all(body)?;
    }
    connection.flush()
}

#[derive(Debug, PartialEq)]
enum Found {
    File(PathBuf),
    /// A folder asked for without the slash that its relative links need.
    Folder,
    Nothing,
}

impl Site {
    fn find(&self, path: &str) -> Found {
        let Some(path) = decode(path) else { return Found::Nothing };
        let Some(below) = path.strip_prefix(&self.base) else {
            return if format!("{path}/") == self.base { Found::Folder } else { Found::Nothing };
        };
        let mounted = self.mounts.iter().find_map(|(prefix, root)| Some((root, below.strip_prefix(prefix)?)));
        let (root, below) = mounted.unwrap_or((&self.pages, below));
        let (Ok(root), Ok(file)) = (root.canonicalize(), root.join(below).canonicalize()) else {
            return Found::Nothing;
        };
        if !file.starts_with(&root) {
            Found::Nothing
        } else if !file.is_dir() {
            Found::File(file)
        } else if !path.ends_with('/') {
            Found::Folder
        } else if file.join("index.html").is_file() {
            Found::File(file.join("index.html"))
        } else {
            Found::Nothing
        }
    }
}

/// A path with its %XX escapes resolved; none where it is not UTF-8 then, or climbs.
fn decode(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(byte);
        }
    }
    let path = String::from_utf8(bytes).ok()?;
    let climbs = path.split('/').any(|part| part == "..") || path.contains("//") || path.contains('\0');
    (!climbs).then_some(path)
}

fn media_type(file: &Path) -> &'static str {
    match file.extension().and_then(|extension| extension.to_str()).unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "wasm" => "application/wasm",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "ts" | "md" | "txt" | "obj" | "wgsl" | "g2o" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn paths_stay_inside_the_roots() {
        let root = std::env::temp_dir().join(format!("xtask-serve-{}", std::process::id()));
        let (pages, package, peers) = (root.join("www"), root.join("npm"), root.join("peers"));
        for (file, text) in [
            ("www/index.html", "a"),
            ("www/demo/index.html", "b"),
            ("npm/dist/index.js", "c"),
            ("peers/jax.js", "e"),
            ("vendor/three/three.webgpu.js", "f"),
            ("x", "d"),
        ] {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), text).unwrap();
        }
        fs::create_dir_all(pages.join("bare")).unwrap();
        let root = root.canonicalize().unwrap();
        let page = |file: &str| Found::File(root.join("www").join(file));
        let at = |base: &str, path: &str| {
            let mounts =
                vec![("residua/", package.clone()), ("peers/", peers.clone()), ("vendor/", root.join("vendor"))];
            Site { base: base.to_owned(), pages: pages.clone(), mounts }.find(path)
        };
        let cases = [
            ("/", "/", page("index.html")),
            ("/", "/demo/", page("demo/index.html")),
            ("/", "/demo", Found::Folder),
            ("/", "/d%65mo/index.html", page("demo/index.html")),
            ("/", "/bare/", Found::Nothing),
            ("/", "/absent", Found::Nothing),
            ("/", "/residua/dist/index.js", Found::File(root.join("npm/dist/index.js"))),
            ("/", "/peers/jax.js", Found::File(root.join("peers/jax.js"))),
            ("/", "/peers/../x", Found::Nothing),
            ("/", "/vendor/three/three.webgpu.js", Found::File(root.join("vendor/three/three.webgpu.js"))),
            ("/", "/../x", Found::Nothing),
            ("/", "/%2e%2e/x", Found::Nothing),
            ("/", "//x", Found::Nothing),
            ("/", "/%ff", Found::Nothing),
            ("/", "/%4", Found::Nothing),
            ("/sub/", "/sub", Found::Folder),
            ("/sub/", "/sub/", page("index.html")),
            ("/sub/", "/sub/residua/dist/index.js", Found::File(root.join("npm/dist/index.js"))),
            ("/sub/", "/index.html", Found::Nothing),
        ];
        for (base, path, expected) in cases {
            assert_eq!(at(base, path), expected, "{path} below {base}");
        }
        fs::remove_dir_all(&root).unwrap();
    }
}
