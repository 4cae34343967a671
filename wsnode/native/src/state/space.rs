//! Telling a full disk from a broken one.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

use super::StateError;

/// What a commit writes at once at the most, so that there is room for it or not.
const PROBE: usize = 1 << 20;
const INPUT_OUTPUT: i32 = 5;

/// LMDB calls a write that the file system cut short an input/output error: see whether there is space.
pub(super) fn explain(path: &Path, error: StateError) -> StateError {
    if is_of_the_disk(&error) && is_full(path) {
        return StateError::NoSpace(path.display().to_string());
    }
    error
}

fn is_of_the_disk(error: &StateError) -> bool {
    match error {
        StateError::Lmdb(heed::Error::Io(reason)) => {
            reason.raw_os_error() == Some(INPUT_OUTPUT) || is_lack(reason.kind())
        }
        _ => false,
    }
}

fn is_full(path: &Path) -> bool {
    let probe = path.join("space.probe");
    let written = File::create(&probe).and_then(|mut file| file.write_all(&vec![0; PROBE]));
    // What cannot be removed is found and overwritten by the next probe.
    let _ = fs::remove_file(&probe);
    written.is_err_and(|reason| is_lack(reason.kind()))
}

fn is_lack(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut_short() -> StateError {
        heed::Error::Io(std::io::Error::from_raw_os_error(INPUT_OUTPUT)).into()
    }

    #[test]
    fn an_input_output_error_on_a_full_disk_is_lack_of_space() {
        let folder = std::env::temp_dir().join(format!("wsnode-space-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        assert!(matches!(explain(&folder, cut_short()), StateError::Lmdb(_)));
        std::os::unix::fs::symlink("/dev/full", folder.join("space.probe")).unwrap();
        let told = explain(&folder, cut_short()).to_string();
        fs::remove_dir_all(&folder).unwrap();
        assert!(told.ends_with(": no space is left on the device"), "{told}");
    }
}
