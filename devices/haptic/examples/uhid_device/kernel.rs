//! The kernel's side of a user-space HID device: the few events of `linux/uhid.h` that this device needs.
//!
//! An event is a number of four bytes and a packed union behind it, all in the machine's byte order.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};

/// Size of `struct uhid_event`.
const EVENT: usize = 4_380;
/// Size of the data field in most requests.
const DATA: usize = 4_096;
const BUS_USB: u16 = 3;
/// Error number that answers requests for reports that the device does not have.
const EIO: u16 = 5;

const DESTROY: u32 = 1;
const START: u32 = 2;
const STOP: u32 = 3;
const OUTPUT: u32 = 6;
const GET_REPORT: u32 = 9;
const GET_REPORT_REPLY: u32 = 10;
const CREATE2: u32 = 11;
const INPUT2: u32 = 12;
const SET_REPORT: u32 = 13;
const SET_REPORT_REPLY: u32 = 14;

/// What the device is.
pub struct Identity<'a> {
    pub name: &'a str,
    pub serial: &'a str,
    pub vendor: u16,
    pub product: u16,
    pub descriptor: &'a [u8],
}

/// What the kernel says.
pub enum Event {
    /// The device is there.
    Start,
    /// It is gone.
    Stop,
    /// A program sent this report.
    Output(Vec<u8>),
}

/// A device in the kernel.
pub struct Uhid {
    node: File,
}

impl Uhid {
    /// Makes the device.
    pub fn create(identity: &Identity<'_>) -> io::Result<Uhid> {
        let uhid = Uhid { node: OpenOptions::new().read(true).write(true).open("/dev/uhid")? };
        let mut request = Vec::with_capacity(EVENT);
        let mut text = |text: &str, room: usize| {
            let mut field = vec![0; room];
            let len = text.len().min(room - 1);
            field[..len].copy_from_slice(&text.as_bytes()[..len]);
            request.extend(field);
        };
        text(identity.name, 128);
        text("", 64);
        text(identity.serial, 64);
        request.extend((identity.descriptor.len() as u16).to_ne_bytes());
        request.extend(BUS_USB.to_ne_bytes());
        for number in [u32::from(identity.vendor), u32::from(identity.product), 1, 0] {
            request.extend(number.to_ne_bytes());
        }
        request.extend(identity.descriptor);
        uhid.send(CREATE2, &request)?;
        Ok(uhid)
    }

    /// Sends an IN report.
    pub fn input(&self, report: &[u8]) -> io::Result<()> {
        let mut request = Vec::with_capacity(2 + report.len());
        request.extend((report.len() as u16).to_ne_bytes());
        request.extend(report);
        self.send(INPUT2, &request)
    }

    /// Takes the device away.
    pub fn destroy(&self) -> io::Result<()> {
        self.send(DESTROY, &[])
    }

    /// Waits for the next event that matters.
    pub fn receive(&self) -> io::Result<Event> {
        let mut bytes = [0; EVENT];
        loop {
            // One read is one event; short ones leave the rest of the buffer as it was.
            (&self.node).read_exact(&mut bytes)?;
            let id = [bytes[4], bytes[5], bytes[6], bytes[7]];
            match u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) {
                START => return Ok(Event::Start),
                STOP => return Ok(Event::Stop),
                OUTPUT => {
                    let size = usize::from(u16::from_ne_bytes([bytes[4 + DATA], bytes[5 + DATA]]));
                    return Ok(Event::Output(bytes[4..4 + size.min(DATA)].to_vec()));
                }
                GET_REPORT => self.refuse(GET_REPORT_REPLY, id)?,
                SET_REPORT => self.refuse(SET_REPORT_REPLY, id)?,
                _ => {}
            }
        }
    }

    fn refuse(&self, kind: u32, id: [u8; 4]) -> io::Result<()> {
        let mut reply = id.to_vec();
        reply.extend(EIO.to_ne_bytes());
        self.send(kind, &reply)
    }

    fn send(&self, kind: u32, body: &[u8]) -> io::Result<()> {
        let mut event = vec![0; EVENT];
        event[..4].copy_from_slice(&kind.to_ne_bytes());
        event[4..4 + body.len()].copy_from_slice(body);
        (&self.node).write_all(&event)
    }
}
