//! The `bucketlog` command as a library, so that tests can run it without a process.
//!
//! One module per subcommand. A subcommand writes its result to the given output and returns a failure otherwise;
//! [`run`] prints it and picks the exit code.
mod append;
mod args;
mod demo;
mod doctor;
mod failure;
mod framing;
mod head;
mod inspect;
mod json;
mod manual;
mod read;
mod read_error;
mod scrub;
mod show;
mod store;

use args::{Cli, Command};
use clap::Parser;
use failure::Failure;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

/// Runs the command line `args` (program name first). Results go to `out`, everything else to stderr.
///
/// Exit codes: 0 done; 1 failed; 2 wrong usage; 3 an object is damaged.
pub fn run(args: impl IntoIterator<Item = OsString>, out: &mut dyn Write) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() && args.iter().any(|arg| arg == "--json") => {
            return fail(&wrong_usage(&error), true, out);
        }
        Err(error) => return usage(&error, out),
    };
    let json = cli.log.json;
    let outcome = dispatch(cli, out).and_then(|()| out.flush().map_err(Failure::from));
    match outcome {
        Err(failure) if !failure.is_closed_pipe() => fail(&failure, json, out),
        _ => ExitCode::SUCCESS,
    }
}

fn fail(failure: &Failure, json: bool, out: &mut dyn Write) -> ExitCode {
    // Nothing is left to tell the failure to if stdout and stderr are gone too.
    let _ = failure.print(json, out);
    ExitCode::from(failure.exit_code())
}

/// What the parser of the arguments found, for programs.
fn wrong_usage(error: &clap::Error) -> Failure {
    let text = error.to_string();
    let what = text.lines().next().unwrap_or_default();
    Failure::usage(what.strip_prefix("error: ").unwrap_or(what), "see --help")
}

fn dispatch(cli: Cli, out: &mut dyn Write) -> Result<(), Failure> {
    match cli.command {
        Command::Append(args) => append::run(&args, &cli.log, out),
        Command::Read(args) => read::run(&args, &cli.log, out),
        Command::Head => head::run(&cli.log, out),
        Command::Demo(args) => demo::run(&args, out),
        Command::Inspect(args) => inspect::run(&args, &cli.log, out),
        Command::Doctor(args) => doctor::run(&args, &cli.log, out),
        Command::Scrub(args) => scrub::run(&args, &cli.log, out),
        Command::Completions(args) => manual::completions(&args, out),
        Command::Man(args) => manual::page(&args, out),
    }
}

/// Help and version are no errors and belong on stdout; wrong usage goes to stderr.
fn usage(error: &clap::Error, out: &mut dyn Write) -> ExitCode {
    let shown = if error.use_stderr() { error.print() } else { print_help(error, out) };
    let code = if shown.is_ok() { error.exit_code() } else { 1 };
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

fn print_help(error: &clap::Error, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{}", error.render())?;
    out.flush()
}
