//! Writes a WAV file of 16 bits, mono, as Opus in Ogg (RFC 7845), 20 ms a packet, 32 kbit/s, variable:
//! `cargo run --release -p telehaptic-audio --example write_opus -- assets/media/voice.wav assets/media/voice.opus`.

use std::path::PathBuf;

/// Serial number of the stream.
const SERIAL: u32 = 1;
/// Packets a page: a second of sound.
const PACKETS: usize = 50;
/// Samples at 48 kHz, in which Ogg counts, of a packet.
const PACKET_AT_48_KHZ: u64 = 960;

/// Flags of a page: first and last.
const FIRST: u8 = 2;
const LAST: u8 = 4;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut paths = std::env::args_os().skip(1).map(PathBuf::from);
    let (from, to) = paths.next().zip(paths.next()).ok_or("name the WAV file to read and the file to write")?;
    let mut wav = hound::WavReader::open(&from)?;
    let rate = wav.spec().sample_rate;
    let mut samples = wav.samples::<i16>().collect::<Result<Vec<_>, _>>()?;
    let mut encoder = opus::Encoder::new(rate, opus::Channels::Mono, opus::Application::Voip)?;
    encoder.set_bitrate(opus::Bitrate::Bits(32_000))?;
    let scale = 48_000 / u64::from(rate);
    let pre_skip = encoder.get_lookahead()? as u64 * scale;
    let end = samples.len() as u64 * scale + pre_skip;
    // The end of the sound comes out of the encoder late.
    let packet = (PACKET_AT_48_KHZ / scale) as usize;
    samples.resize(end.div_ceil(PACKET_AT_48_KHZ) as usize * packet, 0);
    let coded = samples.chunks(packet).map(|samples| encoder.encode_vec(samples, 1_275));
    let packets = coded.collect::<Result<Vec<_>, _>>()?;

    let mut head = b"OpusHead\x01\x01".to_vec();
    head.extend((pre_skip as u16).to_le_bytes());
    head.extend(rate.to_le_bytes());
    head.extend([0; 3]);
    let vendor = b"telehaptic";
    let tags = [&b"OpusTags"[..], &(vendor.len() as u32).to_le_bytes(), vendor, &[0; 4]].concat();
    let mut file = page(0, FIRST, 0, &[head]);
    file.extend(page(1, 0, 0, &[tags]));
    let pages = packets.len().div_ceil(PACKETS);
    for (i, packets) in packets.chunks(PACKETS).enumerate() {
        let sound = (i * PACKETS + packets.len()) as u64 * PACKET_AT_48_KHZ;
        let flags = if i + 1 == pages { LAST } else { 0 };
        file.extend(page(2 + i as u32, flags, sound.min(end), packets));
    }
    std::fs::write(&to, &file)?;
    println!("{}: {} packets, {} bytes", to.display(), packets.len(), file.len());
    Ok(())
}

/// A page of whole packets (RFC 3533, 6); `granule`: samples at 48 kHz up to its end.
fn page(number: u32, flags: u8, granule: u64, packets: &[Vec<u8>]) -> Vec<u8> {
    let lacing = |p: &Vec<u8>| [vec![255; p.len() / 255], vec![(p.len() % 255) as u8]].concat();
    let table: Vec<u8> = packets.iter().flat_map(lacing).collect();
    assert!(table.len() <= 255, "too many segments for a page");
    let mut page = [&b"OggS\0"[..], &[flags], &granule.to_le_bytes(), &SERIAL.to_le_bytes()].concat();
    page.extend(number.to_le_bytes());
    page.extend([0, 0, 0, 0, table.len() as u8]);
    page.extend(table);
    page.extend(packets.iter().flatten());
    let mut crc = 0u32;
    for byte in &page {
        crc ^= u32::from(*byte) << 24;
        for _ in 0..8 {
            crc = crc << 1 ^ if crc >> 31 == 1 { 0x04c1_1db7 } else { 0 };
        }
    }
    page[22..26].copy_from_slice(&crc.to_le_bytes());
    page
}
