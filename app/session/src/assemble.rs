//! Builds a station from its configuration: opens devices, binds sockets, and lays the queues and slots between the
//! threads. Everything that can be missing is found out here, before the first thread runs.

mod av;

use std::sync::atomic::Ordering;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};

use haptic::{DeadMan, DeviceClock, DeviceInfo, Hand, HandConfig, HapticDevice, SimConfig, SimDevice};
use media::{Instant, Role};
use rtrb::{Consumer, Producer, RingBuffer};
use scene::{Pose, Scene, SceneConfig};
use triple_buffer::{Output, triple_buffer};
use udp::{Clock, Socket, Waker};

use crate::config::StationConfig;
use crate::control::{self, Service, SocketFile};
use crate::error::SessionError;
use crate::net::Exchange;
use crate::netthread::NetThread;
use crate::recorder::{RECORDS, Recorder, SERVO_RECORDS};
use crate::servo::{Servo, ServoState};
use crate::shared::{NetSlot, Note, ServoSlot, Shared};
use crate::snapshot::{Command, ViewPicture};
use crate::station::SnapshotCell;
use crate::threads::Threads;
use crate::ticket::{Ticket, new_token, reachable, token_in_file};
use crate::trace::TraceWriter;
use crate::watcher::{Facts, Memory, Watcher};

/// Samples that may wait between servo and network thread.
const SAMPLES: usize = 256;
/// Lines for the log that may wait.
const NOTES: usize = 64;
/// Commands that may wait for the network thread.
const COMMANDS: usize = 32;

/// A station ready to run.
pub(crate) struct Parts {
    pub threads: Threads,
    pub station: Outside,
}

/// What the owner of a station holds.
pub(crate) struct Outside {
    pub clock: Clock,
    pub started: Instant,
    pub ticket: Option<Ticket>,
    pub shared: Arc<Shared>,
    pub snapshot: SnapshotCell,
    pub view: Output<ViewPicture>,
    pub commands: Sender<Command>,
    pub wake: Arc<Waker>,
}

/// Builds everything.
pub(crate) fn assemble(config: &StationConfig) -> Result<Parts, SessionError> {
    let clock = Clock::start();
    let now = clock.now();
    let shared = Arc::new(Shared::default());
    shared.coupling.store(config.coupling.code(), Ordering::Release);
    let network = |e: udp::UdpError| SessionError::Network(e.to_string());
    let socket = Socket::bind(config.listen_address(), clock).map_err(network)?;
    let waker = Arc::new(Waker::new().map_err(|e| network(e.into()))?);
    let ticket = ticket(config, &socket)?;
    let wake = {
        let waker = waker.clone();
        move || -> Box<dyn Fn() + Send> {
            let waker = waker.clone();
            Box::new(move || waker.wake())
        }
    };

    let device = open_device(config, clock)?;
    let info = device.info().clone();
    check_coupling(config, &info)?;
    let (pose_in, pose_out) = triple_buffer(&Pose::default());
    let control = config.safety.control(config.force_limit);
    let side = match config.role {
        Role::Op => Servo::master(device.as_ref(), control, now),
        Role::Top => Servo::slave(device.as_ref(), control, Scene::new(SceneConfig::default()), pose_in, now),
    };
    let max_force = Servo::max_force(&side);
    let dead_man = match Servo::dead_man(&side) {
        DeadMan::Button => "button",
        DeadMan::Key => "key",
        DeadMan::Auto | DeadMan::None => "none",
    };

    let writer = config.trace_dir.as_deref().map(|dir| TraceWriter::create(dir, config.role)).transpose()?;
    let (record_in, record_out) = ring_if(writer.is_some(), RECORDS);
    let (servo_record_in, servo_record_out) = ring_if(writer.is_some(), SERVO_RECORDS);
    let recorder = match (writer, record_out, servo_record_out) {
        (Some(writer), Some(records), Some(servo)) => Some(Recorder { writer, records, servo }),
        _ => None,
    };

    let (sample_in, sample_out) = RingBuffer::new(SAMPLES);
    let (newest_in, newest_out) = triple_buffer(&None);
    let (servo_slot_in, servo_slot_out) = triple_buffer(&ServoSlot::default());
    let (net_slot_in, net_slot_out) = triple_buffer(&NetSlot::default());
    let (servo_notes_in, servo_notes_out) = RingBuffer::new(NOTES);
    let (net_notes_in, net_notes_out) = RingBuffer::new(NOTES);
    let (mut own_notes_in, own_notes_out) = RingBuffer::new(NOTES);
    let (to_net_in, to_net_out) = RingBuffer::new(COMMANDS);

    let sound = av::sound(config, &clock, now, &shared, &wake)?;
    if config.role == Role::Op && matches!(config.speaker, audio::SinkSpec::Device(_)) {
        // The ring is empty still.
        let _ = own_notes_in.push(Note::Text(audio::HEADSET_HINT.to_owned()));
    }
    let picture = av::picture(config, &clock, now, &shared, &wake, pose_out)?;
    let snapshot = SnapshotCell::default();
    let (commands, command_out) = channel();
    let control = control_service(config, &shared, &snapshot, &commands, &mut own_notes_in)?;
    if let Some(ticket) = ticket.filter(|_| config.role == Role::Top) {
        tracing::info!("listening on {}", ticket.address);
    }

    let exchange = Exchange {
        shared: shared.clone(),
        samples: sample_out,
        commands: to_net_out,
        sound_out: sound.out,
        picture_out: picture.out,
        sound_in: sound.into,
        picture_in: picture.into,
        newest: newest_in,
        slot: net_slot_in,
        notes: net_notes_in,
        trace: record_in,
        told_stop: false,
        left: false,
    };
    let net = NetThread::new(config, ticket, &clock, socket, &waker, exchange)?;
    let servo = Servo {
        shared: shared.clone(),
        device,
        side,
        newest: newest_out,
        samples: sample_in,
        slot: servo_slot_in,
        notes: servo_notes_in,
        trace: servo_record_in,
        state: ServoState::default(),
    };
    let priority = Arc::new(OnceLock::new());
    let watcher = Watcher {
        shared: shared.clone(),
        clock,
        facts: Facts {
            role: config.role,
            started: now,
            ticket: ticket.filter(|_| config.role == Role::Top).map(|t| t.to_string()),
            called: config.called().map(|a| a.to_string()).unwrap_or_default(),
            answer_timeout: config.answer_timeout().filter(|_| config.role == Role::Op),
            device: info.name,
            shows_force: info.shows_force,
            workspace_radius: info.workspace_radius,
            dead_man,
            coupling: config.coupling,
            max_force,
            triggers: config.triggers,
            fragment_bytes: u32::try_from(config.fragment_size).unwrap_or(u32::MAX),
            priority: priority.clone(),
        },
        servo: servo_slot_out,
        net: net_slot_out,
        sound: sound.slot,
        picture: picture.slot,
        notes: vec![own_notes_out, net_notes_out, servo_notes_out],
        commands: command_out,
        to_net: to_net_in,
        wake: wake(),
        cell: snapshot.clone(),
        memory: Memory::default(),
    };
    let threads = Threads {
        shared: shared.clone(),
        clock,
        waker: waker.clone(),
        priority,
        servo,
        net,
        picture: picture.thread,
        sound: sound.thread,
        recorder,
        control,
        watcher,
    };
    let station = Outside { clock, started: now, ticket, shared, snapshot, view: picture.view, commands, wake: waker };
    Ok(Parts { threads, station })
}

/// OP: the one it was given. TOP: a new one, or that of the ticket file.
fn ticket(config: &StationConfig, socket: &Socket) -> Result<Option<Ticket>, SessionError> {
    if config.role == Role::Op {
        return Ok(config.ticket);
    }
    let token = match &config.ticket_file {
        Some(path) => token_in_file(path)?,
        None => new_token()?,
    };
    Ok(Some(Ticket { address: reachable(socket.local_addr()), token }))
}

/// A device that cannot show the damping of a coupling would buzz.
fn check_coupling(config: &StationConfig, info: &DeviceInfo) -> Result<(), SessionError> {
    let (coupling, least) = (config.coupling, config.coupling.least_damping());
    if config.role == Role::Top || !info.shows_force || info.max_damping >= least {
        return Ok(());
    }
    Err(SessionError::Config(format!(
        "coupling {coupling} needs a device that renders {least:.1} N s/m of damping, {} renders {:.1}: use position-force \
         or position-position",
        info.name, info.max_damping
    )))
}

fn open_device(config: &StationConfig, clock: Clock) -> Result<Box<dyn HapticDevice>, SessionError> {
    let simulated = |name: &str| {
        let mut sim = SimConfig::default();
        sim.info.name = name.into();
        sim
    };
    let (role, now) = (config.role, clock.now());
    let clock: DeviceClock = Arc::new(move || clock.now());
    let device = config.device().open(&clock, || match role {
        Role::Op => {
            // The hand touches what the default scene shows.
            let scene = SceneConfig::default();
            let hand = Hand::new(HandConfig::default(), move |elapsed| scene::hand_target(&scene, elapsed));
            SimDevice::held(simulated("simulated master"), hand, now)
        }
        Role::Top => SimDevice::new(simulated("simulated slave"), now),
    });
    let what = match role {
        Role::Op => "master",
        Role::Top => "slave",
    };
    device.map_err(|e| SessionError::Device { what, why: e.to_string() })
}

fn ring_if<T>(wanted: bool, size: usize) -> (Option<Producer<T>>, Option<Consumer<T>>) {
    if !wanted {
        return (None, None);
    }
    let (producer, consumer) = RingBuffer::new(size);
    (Some(producer), Some(consumer))
}

/// The control service. At its usual place another station may be served already: then this one runs without.
fn control_service(
    config: &StationConfig,
    shared: &Arc<Shared>,
    snapshot: &SnapshotCell,
    commands: &Sender<Command>,
    notes: &mut Producer<Note>,
) -> Result<Option<(Service, SocketFile)>, SessionError> {
    if !config.control {
        return Ok(None);
    }
    match control::bind(&config.socket_path()) {
        Ok(file) => {
            let service = Service { shared: shared.clone(), snapshot: snapshot.clone(), commands: commands.clone() };
            Ok(Some((service, file)))
        }
        Err(error) if config.control_socket.is_none() => {
            // The ring is empty here.
            let _ = notes.push(Note::Text(format!("`telehaptic ctl` will not reach this station: {error}")));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use media::Coupling;

    #[test]
    fn a_device_that_cannot_damp_waves_is_refused_at_the_operator_alone() {
        let config = |role, coupling| StationConfig { coupling, ..StationConfig::new(role) };
        let weak = DeviceInfo { max_damping: 2.0, ..DeviceInfo::desktop("a weak arm") };
        let error = check_coupling(&config(Role::Op, Coupling::Wave), &weak).unwrap_err();
        assert!(error.is_usage());
        let line = error.to_string();
        assert!(line.contains("3.3 N s/m") && line.contains("a weak arm renders 2.0"), "{line}");
        for fine in [config(Role::Op, Coupling::PositionPosition), config(Role::Top, Coupling::Wave)] {
            check_coupling(&fine, &weak).unwrap();
        }
        check_coupling(&config(Role::Op, Coupling::Wave), &DeviceInfo::desktop("")).unwrap();
        let cap = DeviceInfo { shows_force: false, max_damping: 0.0, ..weak };
        check_coupling(&config(Role::Op, Coupling::Wave), &cap).unwrap();
    }
}
