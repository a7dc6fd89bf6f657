//! `bucketlog completions` and `bucketlog man`.
use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::failure::Failure;
use clap::CommandFactory;
use std::io::Write;

pub(crate) fn completions(args: &CompletionsArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "bucketlog", &mut script);
    Ok(out.write_all(&script)?)
}

pub(crate) fn page(args: &ManArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let mut command = Cli::command();
    command.build();
    let command = match &args.subcommand {
        None => command,
        Some(name) => subcommand(&command, name)?,
    };
    Ok(clap_mangen::Man::new(command).render(&mut &mut *out)?)
}

fn subcommand(command: &clap::Command, name: &str) -> Result<clap::Command, Failure> {
    command.find_subcommand(name).cloned().ok_or_else(|| {
        let known: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        Failure::usage(format!("there is no subcommand `{name}`"), format!("known are {}", known.join(", ")))
    })
}
