//! Distinction of a full disk from a broken one.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Bytes written to find out if the disk is full: most bytes that a commit writes in one call.
const PROBE: usize = 1 << 20;
const INPUT_OUTPUT: i32 = 5;

/// Return true if `error` means that the disk is full at `path`.
///
/// LMDB reports a write cut short by the file system as an input/output error, so a probe of 1 MiB is written
/// to distinguish the two.
pub fn is_lacking(path: &Path, error: &heed::Error) -> bool {
    let heed::Error::Io(reason) = error else {
        return false;
    };
    let is_of_the_disk = reason.raw_os_error() == Some(INPUT_OUTPUT) || is_lack(reason.kind());
    is_of_the_disk && is_full(path)
}

fn is_full(path: &Path) -> bool {
    let probe = path.join("space.probe");
    let written = File::create(&probe).and_then(|mut file| file.write_all(&vec![0; PROBE]));
    // A probe that cannot be removed is overwritten by the next one.
    let _ = fs::remove_file(&probe);
    written.is_err_and(|reason| is_lack(reason.kind()))
}

fn is_lack(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_output_error_on_a_full_disk_is_lack_of_space() {
        let folder = std::env::temp_dir().join(format!("wsnode-space-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let cut_short = heed::Error::Io(std::io::Error::from_raw_os_error(INPUT_OUTPUT));
        let had_space = !is_lacking(&folder, &cut_short);
        std::os::unix::fs::symlink("/dev/full", folder.join("space.probe")).unwrap();
        let has_none = is_lacking(&folder, &cut_short);
        fs::remove_dir_all(&folder).unwrap();
        assert!(had_space && has_none);
    }
}
