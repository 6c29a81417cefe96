//! Gives the pages of our own program back that only the start needed.
//!
//! The kernel maps sixteen pages around each one that is touched, and the start touches something nearly everywhere:
//! policies are parsed, migrations are checked, routes are laid out. What runs afterwards is a small part of it and
//! comes back from the page cache by itself.
#![expect(
    unsafe_code,
    reason = "two system calls on pages that nobody can have written, which safe code can't name"
)]

use std::fs;
use std::io;

/// A part of the memory, from the first byte to the one behind the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mapping<'a> {
    start: usize,
    end: usize,
    access: &'a str,
    /// Of the file behind it, without the first slash.
    path: &'a str,
}

/// Gives them back, unlocked where [`super::guard_memory`] had locked them: a program is no secret. Says how many
/// bytes of the program are mapped so.
pub fn give_back_program() -> io::Result<usize> {
    let program = fs::read_link("/proc/self/exe")?;
    let maps = fs::read_to_string("/proc/self/smaps")?;
    let mut bytes = 0;
    for Mapping { start, end, .. } in untouched(&maps, &program.to_string_lossy()) {
        let (address, length) = (start as *mut libc::c_void, end - start);
        // SAFETY: the mapping is our own program's, which nothing of ours unmaps; whether it is locked changes nothing.
        let unlocked = unsafe { libc::munlock(address, length) };
        // SAFETY: the mapping is of a file, private, not writable and holds no page of its own, so that every byte
        // is read from the file again when it is needed. Nothing of ours changes its own program.
        let given = unsafe { libc::madvise(address, length, libc::MADV_DONTNEED) };
        if unlocked != 0 || given != 0 {
            return Err(io::Error::last_os_error());
        }
        bytes += length;
    }
    Ok(bytes)
}

/// Where `program` is mapped and what is there is exactly what is in the file: pages that the loader wrote
/// addresses into can't be had from it again.
fn untouched<'a>(smaps: &'a str, program: &str) -> Vec<Mapping<'a>> {
    let mut found = Vec::new();
    let mut current = None;
    for line in smaps.lines() {
        if let Some(mapping) = mapping(line) {
            let fixed = matches!(mapping.access, "r--p" | "r-xp");
            current = (fixed && program.strip_prefix('/') == Some(mapping.path)).then_some(mapping);
        } else if line.strip_prefix("Anonymous:").is_some_and(|size| size.trim() == "0 kB") {
            found.extend(current.take());
        }
    }
    found
}

/// The mapping that a line begins, if it begins one.
fn mapping(line: &str) -> Option<Mapping<'_>> {
    let mut words = line.split_ascii_whitespace();
    let (range, access) = (words.next()?, words.next()?);
    let (start, end) = range.split_once('-')?;
    let start = usize::from_str_radix(start, 16).ok()?;
    let end = usize::from_str_radix(end, 16).ok()?;
    let path = line.split_once('/').map_or("", |(_, path)| path);
    Some(Mapping { start, end, access, path })
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
