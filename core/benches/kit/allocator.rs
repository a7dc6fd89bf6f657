//! An allocator that keeps its memory.
use std::process::{Command, ExitCode};

/// The setting of the GNU allocator under which all figures are taken; others ignore it.
const SETTING: (&str, &str) =
    ("GLIBC_TUNABLES", "glibc.malloc.trim_threshold=2147483648:glibc.malloc.mmap_threshold=33554432");

/// Runs the bench in a process whose allocator keeps what was freed, as that of a busy server does. By default the GNU
/// allocator gives the memory of every large batch back to the system and asks for it anew, which then costs as much as
/// hashing it: a figure of the allocator and the kernel, not of what is compared here.
#[allow(clippy::disallowed_methods, reason = "a program's entrance starts it anew; the lint exists only in the core")]
pub fn keeping_memory(bench: fn()) -> ExitCode {
    if std::env::var_os(SETTING.0).is_some() {
        bench();
        return ExitCode::SUCCESS;
    }
    let this = std::env::current_exe().expect("the path of the bench");
    let status = Command::new(this).args(std::env::args_os().skip(1)).env(SETTING.0, SETTING.1).status();
    if status.expect("the bench starts again").success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
