//! `ctl`: talks to a station that runs on this machine.

use media::Role;
use session::Command;
use session::ctl::{Client, CtlError};

use crate::failure::Failure;
use crate::options::{CtlArgs, CtlCommand};
use crate::output::Voice;

/// Does what `args` say.
pub fn run(args: &CtlArgs) -> Result<(), Failure> {
    let mut client = connect(args).map_err(Failure::failed)?;
    let command = match args.what {
        CtlCommand::Status => {
            let snapshot = client.status().map_err(Failure::failed)?;
            Voice::stdout().line(&serde_json::to_string_pretty(&snapshot).map_err(Failure::failed)?);
            return Ok(());
        }
        CtlCommand::Stop => Command::Stop,
        CtlCommand::Estop => Command::EmergencyStop,
        CtlCommand::Release => Command::ReleaseStop,
        CtlCommand::Engage => Command::Engage,
        CtlCommand::Calibrate => Command::Calibrate,
        CtlCommand::Scheme { scheme } => Command::Scheme(scheme),
    };
    client.command(command).map_err(Failure::failed)
}

fn connect(args: &CtlArgs) -> Result<Client, CtlError> {
    if let Some(path) = &args.socket {
        return Client::connect(path);
    }
    match (args.op, args.top) {
        (true, _) => Client::connect_role(Role::Op),
        (_, true) => Client::connect_role(Role::Top),
        _ => Client::connect_any(),
    }
}
